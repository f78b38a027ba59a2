//! A whole hub with every protocol: one program for all tests of promises that hold across protocols.

mod a2a;
mod a2a_remote;
mod access;
mod agora;
mod bridge;
mod matrix;
mod p2p;
mod smoke;
mod team;
mod team_burst;
mod trust;
mod ws;
