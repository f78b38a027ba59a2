//! The `jackfield` program; everything is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield::main()
}
