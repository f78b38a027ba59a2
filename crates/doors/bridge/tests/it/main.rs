//! The bridge door as platforms and agents meet it: one program for all tests over real sockets.

mod http;
mod ws;
