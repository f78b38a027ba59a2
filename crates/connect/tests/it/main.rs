//! Local agents behind `connect`: processes, folders and a real hub. All tests link as a single
//! program.

mod drive;
mod drivers;
mod files;
mod queue;
