//! [`Pipe`]: a queue bounded in bytes that ends exactly once. Nothing here waits: a push tells the writer that the pipe is full, and the reader is woken through its [`ReadyHandle`]. The end is a slot, not an item, so that it always fits. Under a pipe's lock only leaves are taken: the ready set of the reader and the [`Budget`].

use std::{collections::VecDeque, sync::Arc};

use jackfield_model::{End, Event, Input};
use parking_lot::Mutex;

use crate::{budget::Budget, gate::Gate, limits::Limits, ready::ReadyHandle};

/// An item of a [`Pipe`].
pub trait Item: Sized {
    /// Returns the weight of the item in bytes.
    fn weight(&self) -> usize;
    /// Joins `next` to this item, or returns it if the two must stay apart.
    fn merge(&mut self, next: Self) -> Option<Self>;
}

/// The end of a [`Pipe`]: read last, and counted until then.
pub trait Ending {
    /// Returns the weight of the end in bytes.
    fn weight(&self) -> usize {
        0
    }
}

impl Ending for () {}

impl Ending for End {
    fn weight(&self) -> usize {
        self.weight()
    }
}

impl Item for Event {
    fn weight(&self) -> usize {
        self.weight()
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        self.merge(next)
    }
}

impl Item for Input {
    fn weight(&self) -> usize {
        self.weight()
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        self.merge(next)
    }
}

/// The last frames, for a reader that is given up.
impl Ending for Vec<String> {
    fn weight(&self) -> usize {
        self.iter().map(String::len).sum()
    }
}

/// Largest merged item, so that a late reader gets frames and not one lump.
const MERGED_MAX: usize = 64 << 10;

/// Result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// Accepted, and there is room.
    Room,
    /// Accepted, and the pipe is full: the writer should pause.
    Full,
    /// Refused: so much is unread, here or in all pipes of the owner, that the reader must be given up.
    Overrun,
    /// Refused: the pipe has ended, or the writer was replaced.
    Ended,
}

/// Levels of a pipe, from [`Limits`].
#[derive(Debug, Clone, Copy)]
pub struct Levels {
    /// Bytes at which the pipe is full.
    pub full: usize,
    /// Bytes at which a full pipe opens again.
    pub low: usize,
    /// Bytes at which the pipe is overrun.
    pub overrun: usize,
}

impl From<&Limits> for Levels {
    fn from(limits: &Limits) -> Self {
        Self {
            full: limits.pipe_full.0,
            low: limits.pipe_low.0,
            overrun: limits.pipe_overrun.0,
        }
    }
}

/// A bounded queue from one writer to one reader.
#[derive(Debug)]
pub struct Pipe<T, E> {
    state: Mutex<State<T, E>>,
    levels: Levels,
    budget: Arc<Budget>,
}

#[derive(Debug)]
struct State<T, E> {
    /// Items, each with the mark of its last push; 0 for none.
    items: VecDeque<(T, u64)>,
    bytes: usize,
    lease: usize,
    full: bool,
    /// Whether items were taken since the sweeper's last look.
    taken: bool,
    /// Number of looks in a row that found the pipe full and nothing taken.
    stalled: u32,
    ended: bool,
    end: Option<(E, u64)>,
    /// Weight of the end, until it is taken.
    end_bytes: usize,
    /// Highest received mark: items with lower marks are repetitions.
    received: u64,
    writer: u64,
    reader: Option<ReadyHandle>,
    /// Whether the reader was woken and has not drained the pipe since.
    is_woken: bool,
    gate: Option<Arc<Gate>>,
}

impl<T: Item, E: Ending> Pipe<T, E> {
    /// Creates an empty pipe that leases from this budget or account.
    pub fn new(levels: Levels, budget: Arc<Budget>) -> Self {
        let state = State {
            items: VecDeque::new(),
            bytes: 0,
            lease: 0,
            full: false,
            taken: false,
            stalled: 0,
            ended: false,
            end: None,
            end_bytes: 0,
            received: 0,
            writer: 0,
            reader: None,
            is_woken: false,
            gate: None,
        };
        Self {
            state: Mutex::new(state),
            levels,
            budget,
        }
    }

    /// Pushes an item, merged with the last unread one if the two may be joined.
    pub fn push(&self, item: T) -> Pushed {
        self.push_as(None, item)
    }

    /// Pushes an item if `writer` is still the writer of this pipe.
    pub fn push_as(&self, writer: Option<u64>, item: T) -> Pushed {
        let mut state = self.state.lock();
        let pushed = self.put_item(&mut state, writer, item, 0);
        state.wake_reader_after(pushed);
        pushed
    }

    /// Pushes `weight` bytes without an item of their own: `join` gets the last unread item, unless that is
    /// large already, and either adds the bytes to it or returns a new item. Does not wake the reader: a writer
    /// of a batch calls [`Pipe::pulse`] after the last push, before it waits.
    pub fn push_quietly(
        &self,
        weight: usize,
        join: impl FnOnce(Option<&mut T>) -> Option<T>,
    ) -> Pushed {
        self.put(&mut self.state.lock(), None, weight, 0, join)
    }

    /// Pushes like [`Pipe::push_as`], with the writer's own number of the item, from 1 on and rising. Drops
    /// an item whose number is not higher than all before, and returns `None`.
    pub fn push_marked(&self, writer: Option<u64>, item: T, mark: u64) -> Option<Pushed> {
        let mut state = self.state.lock();
        // A replaced writer is told so, even if it repeats items.
        let is_writer = writer.is_none_or(|writer| writer == state.writer);
        if is_writer && !state.ended && mark <= state.received {
            return None;
        }
        let pushed = self.put_item(&mut state, writer, item, mark);
        if matches!(pushed, Pushed::Room | Pushed::Full) {
            state.received = mark;
        }
        state.wake_reader_after(pushed);
        Some(pushed)
    }

    fn put_item(&self, state: &mut State<T, E>, writer: Option<u64>, item: T, mark: u64) -> Pushed {
        self.put(state, writer, item.weight(), mark, |last| match last {
            Some(last) => last.merge(item),
            None => Some(item),
        })
    }

    fn put(
        &self,
        state: &mut State<T, E>,
        writer: Option<u64>,
        weight: usize,
        mark: u64,
        join: impl FnOnce(Option<&mut T>) -> Option<T>,
    ) -> Pushed {
        if state.ended || writer.is_some_and(|writer| writer != state.writer) {
            return Pushed::Ended;
        }
        // Judged before the push, so that one large item always fits.
        if state.bytes >= self.levels.overrun {
            return Pushed::Overrun;
        }
        let growth = Budget::growth(state.lease, state.bytes + weight);
        if growth > 0 && !self.budget.has_room(growth) {
            return Pushed::Overrun;
        }
        let last = state.items.back_mut();
        let before = last.as_ref().map_or(0, |(last, _)| last.weight());
        let joinable = last.filter(|_| before + weight <= MERGED_MAX);
        match joinable {
            Some((last, last_mark)) => {
                let apart = join(Some(last));
                if apart.is_none() {
                    *last_mark = mark.max(*last_mark);
                }
                state.bytes += last.weight() - before;
                if let Some(item) = apart {
                    state.bytes += item.weight();
                    state.items.push_back((item, mark));
                }
            }
            None => {
                if let Some(item) = join(None) {
                    state.bytes += item.weight();
                    state.items.push_back((item, mark));
                }
            }
        }
        let bytes = state.bytes;
        let has_grown = self.budget.adjust(&mut state.lease, bytes);
        // An owner near its share is paced before its readers are given up.
        let is_tight = has_grown && self.budget.is_tight();
        if !state.full && (bytes >= self.levels.full || is_tight) {
            state.full = true;
            state.stalled = 0;
            state.taken = false;
            if let Some(gate) = &state.gate {
                gate.filled();
            }
        }
        if state.full {
            Pushed::Full
        } else {
            Pushed::Room
        }
    }

    /// Moves about `max` bytes of items out (at least one item), in order. Once all are out, also returns the
    /// end, once.
    pub fn take(&self, items: &mut Vec<T>, max: usize) -> Option<E> {
        let end = self.take_each(max, |item, _| items.push(item));
        end.map(|(end, _)| end)
    }

    /// Takes like [`Pipe::take`], each item with its mark: the items up to it are exactly those that were
    /// pushed up to that mark.
    pub fn take_marked(
        &self,
        items: &mut Vec<(T, Option<u64>)>,
        max: usize,
    ) -> Option<(E, Option<u64>)> {
        let given = |mark: u64| (mark > 0).then_some(mark);
        let end = self.take_each(max, |item, mark| items.push((item, given(mark))));
        end.map(|(end, mark)| (end, given(mark)))
    }

    fn take_each(&self, max: usize, mut each: impl FnMut(T, u64)) -> Option<(E, u64)> {
        let mut state = self.state.lock();
        let mut moved = 0;
        while moved < max {
            let Some((item, mark)) = state.items.pop_front() else {
                break;
            };
            moved += item.weight();
            each(item, mark);
        }
        state.bytes -= moved;
        state.taken |= moved > 0;
        let bytes = state.bytes;
        if state.items.is_empty() {
            state.end_bytes = 0;
        }
        let held = bytes + state.end_bytes;
        self.budget.adjust(&mut state.lease, held);
        if state.full && bytes <= self.levels.low {
            state.unfill();
        }
        if !state.items.is_empty() {
            // There is more: the reader is woken again, behind its other sources.
            state.is_woken = false;
            state.wake_reader();
            return None;
        }
        state.is_woken = false;
        state.end.take()
    }

    /// Ends the pipe; only the first end counts. `discard` drops unread items.
    pub fn end(&self, end: E, discard: bool) -> bool {
        self.end_marked(end, discard, 0)
    }

    /// Ends the pipe like [`Pipe::end`], with the writer's own number of the end; 0 for none.
    pub fn end_marked(&self, end: E, discard: bool, mark: u64) -> bool {
        let mut state = self.state.lock();
        if state.ended {
            return false;
        }
        state.ended = true;
        state.end_bytes = end.weight();
        state.end = Some((end, mark));
        state.received = mark.max(state.received);
        if discard {
            state.items.clear();
            state.bytes = 0;
        }
        let held = state.bytes + state.end_bytes;
        self.budget.adjust(&mut state.lease, held);
        if state.full {
            state.unfill();
        }
        if let Some(gate) = state.gate.take() {
            gate.closed();
        }
        state.is_woken = false;
        state.wake_reader();
        true
    }

    /// Sets who is woken when there is something to read; wakes at once if there is already.
    pub fn listen(&self, reader: ReadyHandle) {
        let mut state = self.state.lock();
        state.reader = Some(reader);
        state.is_woken = false;
        if !state.items.is_empty() || state.end.is_some() {
            state.wake_reader();
        }
    }

    /// Sets the writer, and the gate that shows that this pipe is full. Ignores a writer with a lower number
    /// than the current one.
    pub fn written_by(&self, gate: Option<Arc<Gate>>, writer: u64) {
        let mut state = self.state.lock();
        if writer < state.writer {
            return;
        }
        state.writer = writer;
        if state.ended {
            return;
        }
        if let Some(old) = state.gate.take() {
            if state.full {
                old.drained();
            }
            old.closed();
        }
        if let Some(gate) = &gate {
            gate.opened();
            if state.full {
                gate.filled();
            }
        }
        state.gate = gate;
    }

    /// Looks once for the sweeper: returns for how many looks in a row the pipe has been full with nothing
    /// taken.
    pub fn stalled(&self) -> u32 {
        let mut state = self.state.lock();
        if !state.full || std::mem::take(&mut state.taken) {
            state.stalled = 0;
        } else {
            state.stalled += 1;
        }
        state.stalled
    }

    /// Wakes the reader without an item: the writer is alive, or has pushed quietly.
    pub fn pulse(&self) {
        let mut state = self.state.lock();
        if !state.ended {
            state.wake_reader();
        }
    }

    /// Returns the highest received mark, 0 at first.
    pub fn received(&self) -> u64 {
        self.state.lock().received
    }

    /// Continues an earlier pipe, which received all marks up to `mark`.
    pub(crate) fn go_on_after(&self, mark: u64) {
        self.state.lock().received = mark;
    }

    /// Whether the writer should pause.
    pub fn is_full(&self) -> bool {
        self.state.lock().full
    }

    /// Whether the pipe has ended.
    pub fn is_ended(&self) -> bool {
        self.state.lock().ended
    }
}

impl<T, E> State<T, E> {
    /// Wakes the reader if a push was accepted.
    fn wake_reader_after(&mut self, pushed: Pushed) {
        if matches!(pushed, Pushed::Room | Pushed::Full) {
            self.wake_reader();
        }
    }

    fn wake_reader(&mut self) {
        if !self.is_woken
            && let Some(reader) = &self.reader
        {
            self.is_woken = true;
            reader.notify();
        }
    }

    fn unfill(&mut self) {
        self.full = false;
        if let Some(gate) = &self.gate {
            gate.drained();
        }
    }
}

impl<T, E> Drop for Pipe<T, E> {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        self.budget.give_back(state.lease);
        if let Some(gate) = state.gate.take() {
            if state.full {
                gate.drained();
            }
            gate.closed();
        }
    }
}

#[cfg(test)]
mod tests;
