//! Transfer of files between an agent and its caller. [`signal`] holds the signals of all parties; the parts are behind
//! features:
//!
//! - `endpoint`: the two ends, which know no hub. [`pack()`] builds an archive, [`send`] and [`receive`] move it over a
//!   data channel ([`rtc`]) or any other stream of bytes, [`unpack()`] extracts it safely.
//! - `hub`: the hub's part ([`hub`]): whose a transfer is, and archives that pass through the hub.

#[cfg(feature = "endpoint")]
mod endpoint;
#[cfg(feature = "hub")]
pub mod hub;
pub mod signal;

#[cfg(feature = "endpoint")]
pub use self::endpoint::*;
