//! Folders of clients and files of messages, with agents that put links in the way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attachments;
mod workspaces;
