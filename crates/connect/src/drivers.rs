//! Drivers for the kinds of local agents, one file each.

#[cfg(feature = "a2a")]
pub mod a2a;
pub mod acp;
pub mod claude;
pub mod exec;
pub mod http;
mod media;
pub mod openai;
mod web;
