//! Pure functions between the protocol's model and its protobuf messages: `read.rs` what callers send, `write.rs` what
//! they get. An empty string is as good as an absent one, as everywhere in protobuf. Fields that the model keeps for JSON
//! only ([`Extra`](crate::wire::official::model::Extra)) have no place in protobuf and are left out.

pub(super) mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;
