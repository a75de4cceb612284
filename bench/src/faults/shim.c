/* Adds to the clocks of the process that it is preloaded into what a file says: two numbers of seconds, for the wall clock and the
 * monotonic one. The file is mapped, so that whoever writes to it moves the clocks of a process that runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static const volatile int64_t *offsets;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TALLYLINK_BENCH_CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (mapped != MAP_FAILED) offsets = mapped;
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t id, struct timespec *time) {
    int code = real(id, time);
    if (code == 0 && offsets && id == CLOCK_REALTIME) time->tv_sec += offsets[0];
    if (code == 0 && offsets && id == CLOCK_MONOTONIC) time->tv_sec += offsets[1];
    return code;
}
