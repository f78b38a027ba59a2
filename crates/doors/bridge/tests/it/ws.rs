//! An agent's connection as a scripted client meets it, frame by frame: raw JSON over a socket.

mod basics;
mod calls;
mod counts;
mod cuts;
mod files;
mod harness;
mod large;
mod leaving;
mod numbers;
mod pauses;
mod restart;
mod signals;
mod stolen;
mod strange;
