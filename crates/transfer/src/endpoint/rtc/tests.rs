//! Two ends in one process, over real sockets on loopback. Time is stopped where something is waited for that never comes.

mod connecting;
mod ending;
mod memory;
mod moving;
mod path;
