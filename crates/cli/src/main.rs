//! The `jackfield` program. All code is in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield::main()
}
