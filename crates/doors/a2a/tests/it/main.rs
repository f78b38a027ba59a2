//! The A2A door as its callers and servers meet it: one program for all tests over real sockets.

mod card;
mod grpc;
mod official;
mod remotes;
mod seed;
