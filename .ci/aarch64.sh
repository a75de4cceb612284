# A compiler and an emulator for 64-bit ARM, brought where they are absent: sourced behind `common.sh`. Leaves `target`, `sysroot`,
# `emulator` and `standard`, the options that build the standard library where no toolchain has it.

target=aarch64-unknown-linux-gnu
sysroot=/usr/aarch64-linux-gnu
packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
missing=()
for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || cannot_run "not root, so these packages stay absent: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -y -q --no-install-recommends "${missing[@]}"
fi
emulator=$(command -v qemu-aarch64) || cannot_run 'no qemu-aarch64; the package qemu-user brings it'

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
standard=()
if [ ! -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; then
    [ -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ] ||
        cannot_run "no standard library for $target: rustup target add $target, or apt-get install rustc-web rust-web-src"
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1  # `build-std` on a released compiler
    standard=(-Z build-std=std,panic_unwind,test)
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Tests that start the program use it, too.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator -L $sysroot"
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
