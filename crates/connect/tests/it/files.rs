//! Client folders and message attachments, with agents that place symbolic links in the way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attachments;
mod workspaces;
