#!/usr/bin/env bash
# Builds the firmware for a machine that QEMU emulates and prints where the image is:
#     ./build.sh mps2-an385        Cortex-M3, LAN9118
#     ./build.sh mps2-an386        Cortex-M4, LAN9118
#     ./build.sh lm3s6965evb       Cortex-M3, Stellaris Ethernet
# Ends with 77 where there is no compiler for it: see compiler.sh. CARGO_TARGET_DIR says where to build. Another cargo
# command and its arguments, `./build.sh mps2-an385 clippy -- -D warnings`, take the place of building.
set -euo pipefail
machine=${1:?which machine? mps2-an385, mps2-an386 or lm3s6965evb}
cd "$(dirname "$0")"
case $machine in
    mps2-an385) board=mps2 target=thumbv7m-none-eabi ;;
    mps2-an386) board=mps2 target=thumbv7em-none-eabihf ;;
    lm3s6965evb) board=lm3s6965 target=thumbv7m-none-eabi ;;
    *) echo "no machine is called $machine: mps2-an385, mps2-an386 or lm3s6965evb" >&2 && exit 2 ;;
esac
source ./compiler.sh "$target" || exit
directory=${CARGO_TARGET_DIR:-$PWD/target}
flags=(--release --locked --quiet --target "$target" --target-dir "$directory" --no-default-features --features "$board")
if [ $# -gt 1 ]; then
    exec cargo "$2" "${flags[@]}" "${@:3}"
fi
cargo build "${flags[@]}"
cp "$directory/$target/release/tallylink-firmware" "$directory/$machine.elf"
echo "$directory/$machine.elf"
