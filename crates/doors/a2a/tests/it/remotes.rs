//! Remote servers as agents of a hub: a real server at the other end, a hub with the routes that manage them, and a clock
//! that stands still until the test moves it.

mod adding;
mod clock;
mod far;
mod finding;
mod harness;
mod lives;
mod repeats;
mod routes;
mod streams;
