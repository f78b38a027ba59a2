//! The line of one process: the numbers that wait in it, in memory and in its file, which the others read.

use std::{collections::BTreeSet, fs, io, path::PathBuf};

use super::folder::Member;

/// The numbers that wait in this process.
#[derive(Debug, Default)]
pub(super) struct Line {
    numbers: BTreeSet<u64>,
    /// Missing until the first one comes.
    member: Option<Member>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.numbers.first().copied()
    }

    pub(super) fn member(&self) -> Option<&Member> {
        self.member.as_ref()
    }

    pub(super) fn become_member(&mut self, member: Member) {
        self.member = Some(member);
    }

    /// Lines a number up. One that the others cannot see has no place in the line.
    pub(super) fn add(&mut self, number: u64) -> io::Result<()> {
        self.numbers.insert(number);
        self.write().inspect_err(|_| {
            self.numbers.remove(&number);
        })
    }

    /// Takes a number out; false if it was not there. Needs no lock of the folder, so that it can always be done at once.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let was_there = self.numbers.remove(&number);
        if was_there && let Err(error) = self.write() {
            tracing::warn!(%error, "cannot write the line of this process; its numbers lose their order");
            self.forget();
        }
        was_there
    }

    /// Writes the file anew, whole at any moment.
    fn write(&self) -> io::Result<()> {
        let Some(member) = &self.member else {
            return Ok(());
        };
        let text: String = self.numbers.iter().map(|n| format!("{n}\n")).collect();
        let draft = member.draft();
        fs::write(&draft, text)?;
        fs::rename(draft, member.line())
    }

    /// Numbers that nobody waits for would keep all others waiting: better none than wrong ones.
    fn forget(&self) {
        let path: Option<PathBuf> = self.member.as_ref().map(Member::line);
        if let Some(path) = path
            && let Err(error) = fs::remove_file(path)
        {
            tracing::error!(%error, "cannot remove the line of this process; others may wait for it until it ends");
        }
    }
}
