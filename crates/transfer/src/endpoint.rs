//! The two ends of a transfer, without a hub: [`pack()`] builds an archive, an [`Offer`](jackfield_model::Offer) states
//! its size and hash, [`send`] and [`receive`] move it over a data channel or any other stream of bytes,
//! [`ArchivePart::finish`] verifies it, and [`unpack()`] extracts it safely.

mod archive;
mod bundle;
mod changed;
mod channel;
mod digest;
mod dir;
mod excluded;
mod limits;
mod names;
mod omitted;
mod pack;
mod part;
pub mod rtc;
mod single_file;
mod transfer;
mod tree;
mod unpack;
mod work;
mod zip;

pub use self::archive::Archive;
pub use self::bundle::{Bundle, BundleReader};
pub use self::changed::changed_since;
pub use self::channel::{Channel, ChannelError, ChannelFrame};
pub use self::dir::{Dir, starts_with};
pub use self::excluded::is_build_output;
pub use self::limits::ArchiveLimits;
pub use self::names::NameList;
pub use self::omitted::{OmitReason, OmittedEntries};
pub use self::pack::{PackError, Packed, pack};
pub use self::part::{ArchivePart, PartError, sweep_parts};
pub use self::single_file::{SingleFile, save};
pub use self::transfer::{TransferError, receive, send};
pub use self::tree::InvalidEntryName;
pub use self::unpack::{ConflictPolicy, UnpackError, Unpacked, unpack};
pub use self::zip::InvalidArchive;
