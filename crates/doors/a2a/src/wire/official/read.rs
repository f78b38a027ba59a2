//! Reading: the params of every operation, and what servers answer.
//!
//! Input is read leniently: the names and values of either version are taken under both, in either spelling. What must
//! be there must be there, though, and the first mistake is told by its path.

mod item;
mod message;
mod params;
mod part;
mod push;
mod query;
