# Chooses the compiler for a bare-metal target: `source compiler.sh thumbv7m-none-eabi`, then use cargo as ever with
# `--target`. rustup's, where it has the target; else Debian's (rustc-web, rust-web-src, binutils-arm-none-eabi), which
# builds the library from its source. Returns 77 where there is neither.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER CARGO_BUILD_TARGET RUSTUP_TOOLCHAIN
if [ ! -d "$(rustc --print target-libdir --target "$1" 2>/dev/null)" ]; then
    if [ ! -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/core" ] ||
        ! command -v arm-none-eabi-ld >/dev/null; then
        echo "no compiler for $1: rustup target add $1, or" \
            'apt-get install rustc-web rust-web-src binutils-arm-none-eabi' >&2
        return 77
    fi
    PATH=/usr/bin:$PATH # its clippy, if it is there, understands what it has built
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=core
    linker=${1^^}
    export "CARGO_TARGET_${linker//-/_}_LINKER=arm-none-eabi-ld"
fi
