//! The team door's sockets and streams as a viewer meets them, frame by frame: raw JSON over real sockets. The members are
//! scripted agents.

mod arriving;
mod board;
mod changing;
mod deciding;
mod frames;
mod harness;
mod leaving;
mod publishing;
mod replay;
mod restarted;
mod saying;
mod single;
mod sse;
