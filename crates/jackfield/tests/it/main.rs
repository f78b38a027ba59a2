//! The program `jackfield` as people run it: one program for all tests of the real binary.

mod chains;
mod cli;
mod kill;
#[cfg(feature = "p2p")]
mod raw;
mod run;
