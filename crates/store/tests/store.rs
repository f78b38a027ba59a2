//! Tests of the store through the core's `Store` trait, on real files in temporary directories. All tests link as
//! a single program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "store/contract.rs"]
mod contract;
#[path = "store/files.rs"]
mod files;
#[path = "store/kill.rs"]
mod kill;
#[path = "store/merging.rs"]
mod merging;
#[path = "store/model.rs"]
mod model;
#[path = "store/records.rs"]
mod records;
#[path = "store/restart.rs"]
mod restart;
#[path = "store/trimming.rs"]
mod trimming;
