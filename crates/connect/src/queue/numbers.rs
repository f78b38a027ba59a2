//! The waiting numbers of one process, in memory and in its file, which the other processes read.

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use super::folder::QueueMember;

/// The waiting numbers of this process.
#[derive(Debug, Default)]
pub(super) struct WaitingNumbers {
    numbers: BTreeSet<u64>,
    /// Membership in the queue; `None` until the first message.
    member: Option<QueueMember>,
}

impl WaitingNumbers {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.numbers.first().copied()
    }

    pub(super) fn member(&self) -> Option<&QueueMember> {
        self.member.as_ref()
    }

    pub(super) fn set_member(&mut self, member: QueueMember) {
        self.member = Some(member);
    }

    /// Adds a number. Fails if the file cannot be written: a number that other processes cannot see must not
    /// wait.
    pub(super) fn add(&mut self, number: u64) -> io::Result<()> {
        self.numbers.insert(number);
        self.write().inspect_err(|_| {
            self.numbers.remove(&number);
        })
    }

    /// Removes a number; returns `false` if missing. Needs no lock of the folder, so that removal never
    /// waits.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let was_there = self.numbers.remove(&number);
        if was_there && let Err(error) = self.write() {
            tracing::warn!(%error, "cannot write the line of this process; its numbers lose their order");
            self.remove_file();
        }
        was_there
    }

    /// Replaces the file atomically.
    fn write(&self) -> io::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let text: String = self.numbers.iter().map(|n| format!("{n}\n")).collect();
        let draft = member.draft();
        fs::write(&draft, text)?;
        fs::rename(draft, member.line())
    }

    /// Removes the file. Stale numbers would block all other processes; no numbers are better than wrong
    /// ones.
    fn remove_file(&self) {
        let path: Option<PathBuf> = self.member.as_ref().map(QueueMember::line);
        if let Some(path) = path
            && let Err(error) = fs::remove_file(path)
        {
            tracing::error!(%error, "cannot remove the line of this process; others may wait for it until it ends");
        }
    }
}
