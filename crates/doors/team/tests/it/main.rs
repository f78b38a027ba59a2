//! The team door as viewers meet it: one program for all tests over real sockets.

mod http;
mod ws;
