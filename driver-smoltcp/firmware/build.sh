#!/usr/bin/env bash
# Builds the firmware for a machine that QEMU emulates and prints where the image is:
#     ./build.sh mps2-an385        Cortex-M3, LAN9118
#     ./build.sh mps2-an386        Cortex-M4, LAN9118
#     ./build.sh lm3s6965evb       Cortex-M3, Stellaris Ethernet
# Uses rustup's compiler where it has the target, else Debian's (rustc-web, rust-web-src, binutils-arm-none-eabi).
# Ends with 77 where neither can. CARGO_TARGET_DIR says where to build.
set -euo pipefail
machine=${1:?which machine? mps2-an385, mps2-an386 or lm3s6965evb}
cd "$(dirname "$0")"
case $machine in
    mps2-an385) board=mps2 target=thumbv7m-none-eabi ;;
    mps2-an386) board=mps2 target=thumbv7em-none-eabihf ;;
    lm3s6965evb) board=lm3s6965 target=thumbv7m-none-eabi ;;
    *) echo "no machine is called $machine: mps2-an385, mps2-an386 or lm3s6965evb" >&2 && exit 2 ;;
esac
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_WRAPPER CARGO_BUILD_TARGET RUSTUP_TOOLCHAIN
if [ ! -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ]; then
    library=$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/core
    if [ ! -d "$library" ] || ! command -v arm-none-eabi-ld >/dev/null; then
        echo "no compiler for $target: rustup target add $target, or" \
            'apt-get install rustc-web rust-web-src binutils-arm-none-eabi' >&2
        exit 77
    fi
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=core # built from its source
    upper=${target^^}
    export "CARGO_TARGET_${upper//-/_}_LINKER=arm-none-eabi-ld"
fi
directory=${CARGO_TARGET_DIR:-$PWD/target}
cargo build --release --locked --quiet --target "$target" --target-dir "$directory" --no-default-features --features "$board"
cp "$directory/$target/release/tallylink-firmware" "$directory/$machine.elf"
echo "$directory/$machine.elf"
