//! Every limit of the hub in one place, each with its reason. All of them are configurable under `[limits]`.

use serde::{Deserialize, Serialize};

use crate::units::{Size, Span};

/// The hub's limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// A pipe with this much unread is full: its writer is paced. Covers seconds of any model's output.
    pub pipe_full: Size,
    /// A full pipe opens again at this level; half of full, so that it does not flap.
    pub pipe_low: Size,
    /// At this much unread the reader is given up. Eight times full: only a writer that cannot be paced gets here.
    pub pipe_overrun: Size,
    /// A pipe that is full and of which nothing was taken for this long has lost its reader.
    pub pipe_stalled: Span,
    /// All pipes and the messages of all open calls together; an owner holds at most as much of it as is free, and beyond
    /// that its new calls get `busy`. Bounds the hub's memory.
    pub pipes_total: Size,
    /// How much is read per `paced_every` from a connection some of whose pipes are full.
    pub paced_read: Size,
    /// See `paced_read`; together about 1.3 MB/s, more than any model speaks.
    pub paced_every: Span,
    /// One message or result.
    pub message: Size,
    /// The body of one request to the bridge's relay API; as the original hub has it.
    pub relay_body: Size,
    /// One frame before its sender said who it is: enough for any `register`.
    pub frame_before_register: Size,
    /// One frame after that: a message in its envelope.
    pub frame: Size,
    /// The end of an answer of a bridge agent, which repeats what its chunks said: as large as they were, up to this. Four
    /// times a frame, since the hub holds it in memory only to throw the repetition away.
    pub frame_of_end: Size,
    /// The text of one chunk. Larger ones of bridge agents are split, those of Agora agents refused.
    pub chunk: Size,
    /// Nesting of JSON: beyond what any agent means, within what every parser takes.
    pub json_depth: usize,
    /// A socket must say who it is within this time.
    pub register: Span,
    /// One that only looks who is there is given more, but in all no longer than this: a few looks before it registers.
    pub register_latest: Span,
    /// A write that makes no progress for this long closes the connection.
    pub write_stuck: Span,
    /// Open and queued calls per agent.
    pub pending_per_agent: usize,
    /// A call may wait this long in an agent's queue.
    pub queue_wait: Span,
    /// A live call without any sign of life.
    pub idle_live: Span,
    /// A kept call without any sign of life.
    pub idle_kept: Span,
    /// A live call in all, whatever it does.
    pub absolute_live: Span,
    /// A kept call in all, whatever it does.
    pub absolute_kept: Span,
    /// How long a live call may wait for the answer to an ask: a person at the other end.
    pub ask_live: Span,
    /// How long a kept call may: a person who comes back tomorrow.
    pub ask_kept: Span,
    /// Questions of an agent that may be open in one call, and answers that are remembered for a connection that
    /// resumes it: far more than any person keeps in mind.
    pub asks_per_call: usize,
    /// One such question, with what the tool would be called with: more than anybody reads before they decide.
    pub ask: Size,
    /// All questions together that are open in one call: they stay in memory until they are answered.
    pub asks_total: Size,
    /// Every door says something on an open stream after this much silence, for the proxies in between.
    pub keepalive: Span,
    /// An attached agent that says nothing for this long is pinged, and listed as unresponsive when it says nothing for
    /// twice as long: a connection that is dead shows within 20 s.
    pub probe: Span,
    /// An attached agent is gone when it says nothing for twice as long as this. Longer than `probe`: a program that is busy
    /// with something else may answer late.
    pub ping: Span,
    /// How long open calls wait for a resuming agent.
    pub resume_grace: Span,
    /// A call that is kept only for its reader is cancelled after so long without one: time to reconnect, and no more.
    pub unread: Span,
    /// More replacements of one agent id within a minute hold the id for a minute: two programs fight for it.
    pub replacements_per_minute: usize,
    /// Between the end of a request and the next one of its session, for bridge agents without the extension `meta`. The
    /// published client ends a request that arrives while its program of the request before still exits, as an empty
    /// success. Programs exit within some tens of milliseconds; no person notices this much.
    pub session_pause: Span,
    /// Agents in a row from the first caller.
    pub hops: usize,
    /// How often one agent may occur in a chain.
    pub occurrences: usize,
    /// How much of a task's tail is kept in memory for its readers.
    pub task_ring: Size,
    /// How much of a task may wait for the store before its agent is paced.
    pub task_unwritten: Size,
    /// How long a finished task is kept, and one that waits for its next message.
    pub task_kept: Span,
    /// What one kept call may write to its log before it fails: far more than any answer, and a fraction of `tasks_total`.
    pub task_log: Size,
    /// The logs of all finished tasks together on disk; the oldest of the owner that holds most go first.
    pub tasks_total: Size,
    /// Followers of one task: each costs a request to them per change, and hardly anybody has more than one or two.
    pub followers: usize,
    /// All files together that are kept for their links, in memory; the oldest of the owner that holds most go first. A few
    /// dozen of the largest.
    pub files_total: Size,
    /// How long the link of a file leads to it: enough for whoever got it to fetch it, not to publish it.
    pub file_link: Span,
    /// What a team's run keeps for viewers that lag; beyond it they miss events. Enough for a burst of 100,000.
    pub team_ring: Size,
    /// What a team's run keeps for viewers that come (back): some thousand events.
    pub team_tail: Size,
    /// What all runs together keep before each keeps only a little.
    pub team_rings: Size,
    /// How long a team does nothing until its run is over and forgotten.
    pub team_rest: Span,
    /// Members of one team.
    pub team_members: usize,
    /// Tasks on the board of one team.
    pub board_tasks: usize,
    /// How much an observer may lag before it misses events.
    pub tap: Size,
    /// How long open calls are given when the hub stops.
    pub stop_grace: Span,
    /// Bodies and frames together whose end has not come; one sender is refused before it takes more than its share.
    /// Enough for dozens of the largest messages at once, which come within seconds.
    pub input_total: Size,
    /// Answers over HTTP together that are not sent; one asker is refused before it takes more than its share. Enough for
    /// dozens of the largest answers at once.
    pub answers_total: Size,
    /// Requests that one HTTP/2 connection may have open. Browsers and SDKs have a handful; further ones of a gRPC channel
    /// wait for their turn. Each costs the hub some 100 KiB as long as nobody reads.
    pub http2_streams: u32,
    /// Agents one owner may hold.
    pub agents_per_owner: usize,
    /// Connections in all; under the file limit of 20,000 with room for the store and outbound calls. An owner or an
    /// address may hold twice as many as are free: alone 12,000, of which 10,000 may be agents of one machine.
    pub connections: usize,
    /// Connections besides, kept free for health checks and administrators: some probes and a person, each for one request.
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
            relay_body: Size::mib(5),
            frame_before_register: Size::kib(64),
            frame: Size::mib(8),
            frame_of_end: Size::mib(32),
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
            session_pause: Span::millis(250),
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
            team_ring: Size::mib(192),
            team_tail: Size::mib(4),
            team_rings: Size::mib(512),
            team_rest: Span::secs(600),
            team_members: 64,
            board_tasks: 1000,
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
