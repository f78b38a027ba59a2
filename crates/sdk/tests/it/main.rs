//! The SDK against real hubs; all tests link as a single program.

#[cfg(feature = "a2a")]
mod a2a;
mod bridge;
#[cfg(feature = "a2a")]
mod examples;
mod hub;
#[cfg(feature = "in-process")]
mod in_process;
