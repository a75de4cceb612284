# Shared by the scripts beside it: `source "$(dirname "$0")/common.sh"`. Leaves the caller at the top of the checkout.

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

# The exit code of a check that this machine cannot run; `.ci/run` reports it, and fails on it under CI=true.
readonly CANNOT_RUN=77

# cannot_run WHY: ends the script, neither passed nor failed.
cannot_run() {
    printf '!!! CANNOT RUN: %s\n' "$1" >&2
    exit "$CANNOT_RUN"
}

# fail WHY: ends the script as failed.
fail() {
    printf '!!! FAILED: %s\n' "$1" >&2
    exit 1
}

# need COMMAND PROVIDER: the check cannot run without COMMAND, which PROVIDER brings.
need() {
    command -v "$1" >/dev/null || cannot_run "no $1 here; $2 brings it"
}
