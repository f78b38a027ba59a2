//! Local agents behind `connect`: one program for all tests with processes, folders and a real hub.

mod drive;
mod drivers;
mod files;
mod queue;
