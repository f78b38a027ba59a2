//! A whole hub with every protocol: promises across protocols. All tests link as a single program.

mod a2a;
mod a2a_remote;
mod access;
mod agora;
mod bridge;
mod browser;
mod matrix;
mod openai;
mod p2p;
mod schemas;
mod smoke;
mod team;
mod team_burst;
mod trust;
mod ws;
