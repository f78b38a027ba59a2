//! The SDK against real hubs: one program for all tests.

#[cfg(feature = "a2a")]
mod a2a;
mod bridge;
#[cfg(feature = "a2a")]
mod examples;
mod hub;
#[cfg(feature = "in-process")]
mod in_process;
