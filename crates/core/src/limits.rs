//! The limits of the hub, each with its reason. All of them are configurable under `[limits]`; limits of a single door stand
//! with the door.

use serde::{Deserialize, Serialize};

use crate::units::{Size, Span};

/// The hub's limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Unread bytes at which a pipe is full and its writer is paced. Covers seconds of any model's output.
    pub pipe_full: Size,
    /// Level at which a full pipe opens again; half of full, so that it does not flap.
    pub pipe_low: Size,
    /// Unread bytes at which the reader is given up. Eight times full: only a writer that cannot be paced
    /// gets here.
    pub pipe_overrun: Size,
    /// Time after which a full pipe without any reading has lost its reader.
    pub pipe_stalled: Span,
    /// Bytes of all pipes and of the messages of all open calls together. An owner holds at most as much as
    /// is free; beyond that its new calls get `busy`. Bounds the hub's memory.
    pub pipes_total: Size,
    /// Bytes that are read per `paced_every` from a connection with some full pipes.
    pub paced_read: Size,
    /// Interval of `paced_read`; together about 1.3 MB/s, more than any model produces.
    pub paced_every: Span,
    /// Largest message or result.
    pub message: Size,
    /// Largest frame before its sender has registered: enough for any `register`.
    pub frame_before_register: Size,
    /// Largest frame after that: a message in its envelope.
    pub frame: Size,
    /// Largest text of one chunk. Doors split larger chunks or refuse them, as their protocol allows.
    pub chunk: Size,
    /// Deepest nesting of JSON: beyond any agent's need, within every parser's limit.
    pub json_depth: usize,
    /// Time for a socket to register.
    pub register: Span,
    /// Total time for a socket that only looks at who is there before it registers.
    pub register_latest: Span,
    /// Time after which a write without progress closes the connection.
    pub write_stuck: Span,
    /// Largest number of open and queued calls per agent.
    pub pending_per_agent: usize,
    /// Longest wait of a call in an agent's queue.
    pub queue_wait: Span,
    /// Longest time of a live call without a sign of life.
    pub idle_live: Span,
    /// Longest time of a durable call without a sign of life.
    pub idle_kept: Span,
    /// Longest total time of a live call.
    pub absolute_live: Span,
    /// Longest total time of a durable call.
    pub absolute_kept: Span,
    /// Longest wait of a live call for the answer to a question: a person at the other end.
    pub ask_live: Span,
    /// Longest wait of a durable call for the answer to a question: a person who comes back tomorrow.
    pub ask_kept: Span,
    /// Largest number of open questions per call, and of answers that are remembered for a resuming
    /// connection: far more than any person keeps in mind.
    pub asks_per_call: usize,
    /// Largest question, with the arguments of its tool: more than anybody reads before deciding.
    pub ask: Size,
    /// Largest total of a call's open questions: they stay in memory until they are answered.
    pub asks_total: Size,
    /// Silence on an open stream after which every door sends a sign of life, for proxies in between.
    pub keepalive: Span,
    /// Silence after which an attached agent is pinged; after twice as long it is listed as unresponsive. A
    /// dead connection shows within 20 s.
    pub probe: Span,
    /// Half of the silence after which an attached agent is gone. Longer than `probe`: a busy program may
    /// answer late.
    pub ping: Span,
    /// Time that open calls wait for a resuming agent.
    pub resume_grace: Span,
    /// Time after which a call that is durable only for its reader is cancelled without one: time to
    /// reconnect, and no more.
    pub unread: Span,
    /// Number of replacements of one agent id within a minute after which the id is held for a minute: two
    /// programs fight for it.
    pub replacements_per_minute: usize,
    /// Largest number of agents in a row from the first caller.
    pub hops: usize,
    /// Largest number of times that one agent may occur in a chain.
    pub occurrences: usize,
    /// Bytes of a task's tail that are kept in memory for its readers.
    pub task_ring: Size,
    /// Bytes of a task that may wait for the store before its agent is paced.
    pub task_unwritten: Size,
    /// Time that a finished task is kept, and a task that waits for its next message.
    pub task_kept: Span,
    /// Bytes that one durable call may write to its log before it fails: far more than any answer, and a
    /// fraction of `tasks_total`.
    pub task_log: Size,
    /// Bytes of the logs of all finished tasks on disk; the oldest of the owner that holds most go first.
    pub tasks_total: Size,
    /// Largest number of followers per task: each costs a request per change, and more than one or two are
    /// rare.
    pub followers: usize,
    /// Bytes of all linked files in memory; the oldest of the owner that holds most go first. A few dozen of
    /// the largest.
    pub files_total: Size,
    /// Time for which a link to a file works: enough to fetch the file, not to publish it.
    pub file_link: Span,
    /// Bytes that an observer may lag before it misses events.
    pub tap: Size,
    /// Grace period for open calls when the hub stops.
    pub stop_grace: Span,
    /// Bytes of all incomplete bodies and frames; a sender is refused before it takes more than its share.
    /// Enough for dozens of the largest messages at once, which arrive within seconds.
    pub input_total: Size,
    /// Bytes of all unsent answers over HTTP; a client is refused before it takes more than its share. Enough
    /// for dozens of the largest answers at once.
    pub answers_total: Size,
    /// Largest number of open requests per HTTP/2 connection. Browsers and SDKs have a handful; further
    /// requests of a gRPC channel wait for their turn. Each costs the hub some 100 KiB until it is read.
    pub http2_streams: u32,
    /// Largest number of agents per owner.
    pub agents_per_owner: usize,
    /// Largest number of connections; under the file limit of 20,000 with room for the store and outbound
    /// calls. An owner or an address may hold twice as many as are free: alone 12,000, of which 10,000 may be
    /// agents of one machine.
    pub connections: usize,
    /// Further connections that are kept free for health checks and administrators: some probes and a person,
    /// each for one request.
    pub operator_connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pipe_full: Size::mib(1),
            pipe_low: Size::kib(512),
            pipe_overrun: Size::mib(8),
            pipe_stalled: Span::secs(30),
            pipes_total: Size::mib(512),
            paced_read: Size::kib(64),
            paced_every: Span::millis(50),
            message: Size::mib(8),
            frame_before_register: Size::kib(64),
            frame: Size::mib(8),
            chunk: Size::mib(1),
            json_depth: 64,
            register: Span::secs(10),
            register_latest: Span::secs(60),
            write_stuck: Span::secs(30),
            pending_per_agent: 64,
            queue_wait: Span::secs(600),
            idle_live: Span::secs(120),
            idle_kept: Span::secs(300),
            absolute_live: Span::secs(3600),
            absolute_kept: Span::secs(86_400),
            ask_live: Span::secs(600),
            ask_kept: Span::secs(86_400),
            asks_per_call: 64,
            ask: Size::kib(256),
            asks_total: Size::mib(1),
            keepalive: Span::secs(15),
            probe: Span::secs(9),
            ping: Span::secs(25),
            resume_grace: Span::secs(30),
            unread: Span::secs(30),
            replacements_per_minute: 3,
            hops: 8,
            occurrences: 2,
            task_ring: Size::kib(256),
            task_unwritten: Size::mib(1),
            task_kept: Span::secs(86_400),
            task_log: Size::mib(256),
            tasks_total: Size::mib(1024),
            followers: 16,
            files_total: Size::mib(256),
            file_link: Span::secs(3600),
            tap: Size::mib(1),
            stop_grace: Span::secs(10),
            input_total: Size::mib(256),
            answers_total: Size::mib(256),
            http2_streams: 32,
            agents_per_owner: 20_000,
            connections: 18_000,
            operator_connections: 32,
        }
    }
}
