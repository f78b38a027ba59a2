//! The program `jackfield` as users run it; all tests of the real binary link as a single program.

mod chains;
mod cli;
mod kill;
#[cfg(feature = "p2p")]
mod raw;
mod run;
