#!/usr/bin/env bash
# Runs the firmware on a machine that QEMU emulates, as the device of a key file that `tallylink peer add NAME --out FILE`
# wrote, against a gateway on this computer:
#     ./run.sh mps2-an385 FILE [readings=10000] [every-ms=0] [when-full=refuse]
# GATEWAY_PORT is 7433 if it is not set. The log is defmt's.
set -euo pipefail
machine=${1:?which machine? mps2-an385, mps2-an386 or lm3s6965evb}
key_file=${2:?which key file?}
image=$("$(dirname "$0")/build.sh" "$machine")
of() { sed -n "s/^$1 = \"\\?\\([0-9a-f]*\\)\"\\?\$/\\1/p" "$key_file"; }
# The emulated board counts no starts in flash: the time does not go back either.
words=("gateway=10.0.2.2:${GATEWAY_PORT:-7433}" "peer=$(of peer)" "key=$(of key)" "key-id=$(of key_id)" "boots=$(date +%s%N)")
arguments=,arg=firmware
for word in "${words[@]}" "${@:3}"; do arguments+=,arg=$word; done
exec qemu-system-arm -M "$machine" -nographic -monitor none -serial none -nic user -kernel "$image" \
    -semihosting-config "enable=on,target=native$arguments"
