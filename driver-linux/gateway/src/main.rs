//! The `tallylink` program; everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tallylink_gateway::main()
}
