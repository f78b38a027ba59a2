//! Transfer of folders between two peers: [`pack()`] builds an archive, an [`Offer`] states its size and hash,
//! [`send`] and [`receive`] move it over a data channel or any other stream of bytes, [`Part::finish`]
//! verifies it, and [`unpack()`] extracts it safely. The crate is independent of hubs.

mod archive;
mod behind;
mod bundle;
mod channel;
mod digest;
mod dir;
mod left_out;
mod limits;
mod loose;
mod names;
mod offer;
mod omitted;
mod pack;
mod part;
pub mod rtc;
mod transfer;
mod tree;
mod unpack;
mod work;
mod zip;

pub use self::archive::Archive;
pub use self::behind::changed_since;
pub use self::bundle::{Bundle, Pieces};
pub use self::channel::{Channel, ChannelError, Frame};
pub use self::dir::{Dir, starts_with};
pub use self::left_out::is_made_by_tools;
pub use self::limits::Limits;
pub use self::loose::{Loose, save};
pub use self::names::Names;
pub use self::offer::{BadOffer, Offer};
pub use self::omitted::{Omitted, Why};
pub use self::pack::{PackError, Packed, pack};
pub use self::part::{Part, PartError, sweep_parts};
pub use self::transfer::{TransferError, receive, send};
pub use self::tree::BadName;
pub use self::unpack::{Clash, UnpackError, Unpacked, unpack};
pub use self::zip::BadArchive;
