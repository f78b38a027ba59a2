//! An agent against a scripted hub that writes raw frames, so that the test controls every frame and every cut.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod register;
mod replies;
mod resume;
mod script;
mod signals;
mod work;
