//! The program as people run it: the real binary against a real hub.

mod agents;
mod asks;
mod callbacks;
mod calls;
mod codes;
mod fake;
mod local;
mod readme;
mod remotes;
mod run;
mod serve;
mod survives;
mod tasks;
mod teams;
mod terminal;
mod tokens;
mod watch;
mod watch_team;
