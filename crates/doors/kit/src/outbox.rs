//! Delivery of the hub's outbox for all doors. A door writes the content of its callbacks as a [`Composer`].
//! Posting, signing, retrying and giving up are the same for every door (docs/promises.md, Callbacks).
//!
//! A hub has one [`Courier`], started after all doors are open.

mod claims;
mod courier;
mod post;
mod sign;
#[cfg(test)]
mod tests;

pub use self::{
    courier::Courier,
    post::{CallbackPost, ComposeError, Composer},
    sign::CallbackKey,
};
