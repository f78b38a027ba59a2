//! A Jackfield hub as a library: the configuration ([`config`]), and the assembly of store, core, doors and
//! server ([`assembly`]). The program `jackfield` runs such a hub; tests run one on port 0.

pub mod address;
pub mod assembly;
pub mod callbacks;

pub mod config;
mod doors;
pub mod exposure;
pub mod files;
pub mod matrix;
mod not_found;
pub mod platform;
mod ws;
