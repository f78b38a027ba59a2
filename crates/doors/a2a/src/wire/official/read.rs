//! Readers for the params of every operation and for the answers of servers.
//!
//! Input is read leniently: names and values of either version are accepted under both, in either spelling.
//! Required fields must be present, and the first error names the path of the field.

mod item;
mod message;
mod params;
mod part;
mod push;
mod query;
