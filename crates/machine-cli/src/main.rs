//! The program `agent-machine`: an agent that works on a real directory.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    machine_cli::program::main()
}
