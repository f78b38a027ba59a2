//! Be an agent of a Jackfield hub, or call one, from Rust.
