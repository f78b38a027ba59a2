//! Every limit of the node in one place, each with its reason.

use std::time::Duration;

/// A peer that answers at all has done so by then, through a relay too.
pub const CONNECT: Duration = Duration::from_secs(10);

/// A way to a peer that is not the best has to wait this long for the better ones.
pub const HEAD_START: Duration = Duration::from_secs(1);

/// Whoever closes a connection at once may take the next one after this: published peers count them by the second.
pub const TURNED_AWAY: Duration = Duration::from_millis(1100);

/// A socket listens at once, or never.
pub const LISTEN: Duration = Duration::from_secs(5);

/// Opening a stream is one round trip and a word about its protocol.
pub const OPEN: Duration = Duration::from_secs(5);

/// A peer that opened a stream to ask something starts to ask within this time.
pub const FIRST_BYTE: Duration = Duration::from_secs(5);

/// A whole request, of the largest size, over a slow line.
pub const REQUEST: Duration = Duration::from_secs(10);

/// A write of which nothing goes out for this long has lost its reader.
pub const WRITE_STUCK: Duration = Duration::from_secs(10);

/// The longest time for 16 KiB of an answer, on the whole: the slowest line that anybody would wait for.
pub const SLOWEST: Duration = Duration::from_millis(500);

/// The largest answer that is read: one result of the hub.
pub const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// The longest line of frames that is read: the largest answer, with room for how JSON writes it.
pub const MAX_FRAME: usize = 2 * MAX_ANSWER;

/// Some peers answer and never close their side, as the handlers of the seed. An object or a list whose brackets are closed is
/// their whole answer: this is only for the end of the stream to come along, so that those who do close meet no reset. The
/// first words wait as long for it: who closes with them has answered in one piece.
pub const AFTER_JSON: Duration = Duration::from_millis(250);

/// The same for JSON that might go on: a number, or a value with a line break behind it. Nobody who writes lines stops for so
/// long between two of them.
pub const SILENCE: Duration = Duration::from_secs(2);

/// The same for words, which have no end of their own. They are handed over as they come, so that only the end of the call
/// waits for this. By the older protocol an answer is one body, so that a pause is the network's, and shorter. A peer that thinks
/// longer between two words cannot be told from one that is done: `p2p.words_silence` sets another time for such peers.
pub const WORDS_SILENCE: Duration = Duration::from_secs(5);

/// Some peers miss the end of a stream that ends before they look at it; by now they look.
pub const BEFORE_FIN: Duration = Duration::from_millis(150);

/// How long an answered stream is still read, so that the peer's last bytes meet no reset.
pub const LINGER: Duration = Duration::from_secs(2);

/// How much of that is read: the largest request, since a peer that is refused may have to get rid of all of it before it
/// looks for the answer. One that sends more does not listen, and is reset.
pub const LINGER_BYTES: usize = 1024 * 1024;

/// Streams of one connection, both ways together. A multiplexer that gets one more drops the whole connection, so this is
/// well above what a busy peer opens at once; what is above our own limits is answered so, on its stream.
pub const STREAMS_PER_CONNECTION: usize = 256;

/// Streams that we open to one peer: leaves the peer as many on the same connection.
pub const STREAMS_TO_PEER: usize = 128;

/// Streams of one protocol that wait for the task that takes them; more wait in their connections.
pub const ARRIVED: usize = 64;

/// Connections that are being made to us: handshakes cost a signature each.
pub const PENDING_INBOUND: u32 = 64;

/// Connections that are being made by us.
pub const PENDING_OUTBOUND: u32 = 64;

/// Connections of one peer: each transport once, directly and by a relay.
pub const CONNECTIONS_PER_PEER: u32 = 4;

/// Connections in all.
pub const CONNECTIONS: u32 = 1024;

/// Of these, connections that came to us: some are left for those that we make.
pub const INBOUND: u32 = 960;

/// A connection that nobody keeps and nothing uses.
pub const IDLE: Duration = Duration::from_secs(600);

/// How often a connection is asked for a sign of life.
pub const PING_EVERY: Duration = Duration::from_secs(15);

/// How long it has for it before it is given up.
pub const PING_WAIT: Duration = Duration::from_secs(20);

/// Streams on which a peer pings us at a time; on one more, the oldest is given up. Some open a new one for every ping.
pub const PINGS: usize = 4;

/// Commands that wait for the swarm's task, which takes them at once.
pub const COMMANDS: usize = 256;

/// Events that a reader of the node's news may lag behind: a reconnect of every connection there can be.
pub const NEWS: usize = 2048;

/// How long closing connections have to say goodbye when the node stops.
pub const GOODBYE: Duration = Duration::from_secs(1);

/// A relay that does not answer by then is asked again.
pub const RESERVE: Duration = Duration::from_secs(20);

/// The first wait before something that failed is tried again: a place at a relay, a card, a registration.
pub const AGAIN: Duration = Duration::from_secs(1);

/// The longest of these waits.
pub const AGAIN_MOST: Duration = Duration::from_secs(60);

/// Hops that a handoff may have passed where no hub says otherwise: as many as a hub allows by default, so that a loop ends
/// in the same place.
pub const HOPS: usize = 8;

/// Handoffs of one peer at a time.
pub const HANDOFFS_PER_PEER: usize = 8;

/// Cards for one peer at a time.
pub const CARDS_PER_PEER: usize = 4;

/// Exchanges of all peers at a time.
pub const EXCHANGES: usize = 512;

/// Exchanges that a peer may begin at once …
pub const BURST_PER_PEER: u32 = 20;

/// … and per second from then on.
pub const RATE_PER_PEER: u32 = 5;

/// The same for one address, since peers are free to mint: a household or an office behind it has several.
pub const BURST_PER_ADDRESS: u32 = 100;

/// See `BURST_PER_ADDRESS`.
pub const RATE_PER_ADDRESS: u32 = 25;
