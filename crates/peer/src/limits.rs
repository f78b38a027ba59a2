//! Every limit of the peer in one place, each with its reason.

use std::time::Duration;

/// Timeout of a connection attempt. A peer that answers at all has answered by then, also through a relay.
pub const CONNECT: Duration = Duration::from_secs(10);

/// Head start of better addresses over worse ones.
pub const HEAD_START: Duration = Duration::from_secs(1);

/// Pause before a second attempt after a peer closed the connection at once: published peers count
/// connections by the second.
pub const TURNED_AWAY: Duration = Duration::from_millis(1100);

/// Timeout of a listener: a socket listens at once or never.
pub const LISTEN: Duration = Duration::from_secs(5);

/// Timeout for opening a stream: one round trip and the negotiation of its protocol.
pub const OPEN: Duration = Duration::from_secs(5);

/// Timeout for the first byte of a request on a stream that a peer opened.
pub const FIRST_BYTE: Duration = Duration::from_secs(5);

/// Timeout of a whole request: the largest size over a slow connection.
pub const REQUEST: Duration = Duration::from_secs(10);

/// Longest write without progress. After that the reader counts as gone.
pub const WRITE_STUCK: Duration = Duration::from_secs(10);

/// Longest average time for 16 KiB of an answer: the slowest connection worth waiting for.
pub const SLOWEST: Duration = Duration::from_millis(500);

/// Largest answer that is read, in bytes: one result of the hub.
pub const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Longest line of frames that is read, in bytes: the largest answer, with room for JSON escapes.
pub const MAX_FRAME: usize = 2 * MAX_ANSWER;

/// Pause after a JSON object or array whose brackets are closed. Some peers, such as the handlers of the
/// seed, never close their side, so closed brackets are their whole answer; the pause lets the end of the
/// stream arrive, so that peers that do close get no reset. The first text of a body waits as long: a peer
/// that closes right after it has answered in one piece.
pub const AFTER_JSON: Duration = Duration::from_millis(250);

/// Silence that ends JSON which might continue: a number, or a value followed by a line break. Writers of
/// lines do not pause that long between two lines.
pub const SILENCE: Duration = Duration::from_secs(2);

/// Silence that ends plain text, which has no end of its own. Text is passed on as it arrives, so only the
/// end of the call waits. By the older protocol an answer is one body, and pauses come from the network and
/// are shorter. A peer that thinks longer between two words looks like a finished one: `p2p.words_silence`
/// sets another value for such peers.
pub const WORDS_SILENCE: Duration = Duration::from_secs(5);

/// Pause before our end of a stream. Some peers miss an end that arrives before they look at the stream; by
/// now they look.
pub const BEFORE_FIN: Duration = Duration::from_millis(150);

/// How long a stream is read after the answer, so that the peer's last bytes cause no reset.
pub const LINGER: Duration = Duration::from_secs(2);

/// Bytes read after the answer: the largest request, since a refused peer may have to write all of it before
/// it reads the answer. A peer that sends more does not read, and is reset.
pub const LINGER_BYTES: usize = 1024 * 1024;

/// Most streams of one connection, both ways together. The multiplexer drops the whole connection at one
/// more, so this is well above what a busy peer opens at once; what exceeds our own limits is refused on its
/// own stream.
pub const STREAMS_PER_CONNECTION: usize = 256;

/// Most streams that we open to one peer: leaves the peer as many on the same connection.
pub const STREAMS_TO_PEER: usize = 128;

/// Most inbound streams of one protocol that wait for the accepting task; more wait in their connections.
pub const ARRIVED: usize = 64;

/// Most inbound connections in the handshake, which costs a signature each.
pub const PENDING_INBOUND: u32 = 64;

/// Most outbound connections in the handshake.
pub const PENDING_OUTBOUND: u32 = 64;

/// Most connections with one peer: each transport once, directly and through a relay.
pub const CONNECTIONS_PER_PEER: u32 = 4;

/// Most connections in all.
pub const CONNECTIONS: u32 = 1024;

/// Most inbound connections: the rest is left for outbound ones.
pub const INBOUND: u32 = 960;

/// Idle timeout of a connection that is not kept.
pub const IDLE: Duration = Duration::from_secs(600);

/// Interval of pings.
pub const PING_EVERY: Duration = Duration::from_secs(15);

/// Timeout of a ping. After that the connection is closed.
pub const PING_WAIT: Duration = Duration::from_secs(20);

/// Most streams on which one peer pings us; one more evicts the oldest. Some peers open a new stream for
/// every ping.
pub const PINGS: usize = 4;

/// Most queued commands to the swarm's task, which takes them at once.
pub const COMMANDS: usize = 256;

/// Most events that a subscriber of the node may lag behind: a reconnect of every possible connection.
pub const NEWS: usize = 2048;

/// Time for connections to close in good order when the node stops.
pub const GOODBYE: Duration = Duration::from_secs(1);

/// Timeout of a request to a relay. After that the relay is asked again.
pub const RESERVE: Duration = Duration::from_secs(20);

/// First delay before a retry: of a reservation at a relay, a card, a registration.
pub const AGAIN: Duration = Duration::from_secs(1);

/// Longest delay before a retry.
pub const AGAIN_MOST: Duration = Duration::from_secs(60);

/// Most hops of a handoff where no hub says otherwise: as many as a hub allows by default, so that a loop
/// ends in the same place.
pub const HOPS: usize = 8;

/// Most open handoffs of one peer.
pub const HANDOFFS_PER_PEER: usize = 8;

/// Most open card requests of one peer.
pub const CARDS_PER_PEER: usize = 4;

/// Most open exchanges of all peers.
pub const EXCHANGES: usize = 512;

/// Exchanges that a peer may begin in a burst.
pub const BURST_PER_PEER: u32 = 20;

/// Exchanges per second that a peer may begin after a burst.
pub const RATE_PER_PEER: u32 = 5;

/// Exchanges that all peers of one IP address may begin in a burst, since peer ids are free to create. A
/// household or an office behind one address has several peers.
pub const BURST_PER_ADDRESS: u32 = 100;

/// Exchanges per second of one IP address after a burst.
pub const RATE_PER_ADDRESS: u32 = 25;
