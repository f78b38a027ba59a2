//! A Jackfield hub as a library: its configuration ([`config`]), and its store, core, doors and server put together
//! ([`assembly`]). The program `jackfield` runs it, and so do tests, on port 0.

pub mod address;
pub mod assembly;
pub mod callbacks;

pub mod config;
mod doors;
pub mod exposure;
pub mod files;
pub mod matrix;
pub mod platform;
mod signpost;
mod ws;
