//! What empties the hub's outbox, whichever door put something into it. A door says what a callback says
//! ([`Composer`]); when and how it is posted, signed, repeated and given up is the same for all of them
//! (docs/promises.md, Callbacks).
//!
//! There is one [`Courier`] per hub, started when all doors are made.

mod claims;
mod courier;
mod letter;
mod sign;
#[cfg(test)]
mod tests;

pub use self::{
    courier::Courier,
    letter::{Composer, Letter, Undelivered},
    sign::CallbackKey,
};
