//! Pure functions between the protocol's model and its protobuf messages: [`read`] for requests, [`mod@write`]
//! for answers. As usual in protobuf, an empty string counts as absent. Fields that the model keeps for JSON
//! only ([`Extra`](crate::wire::official::model::Extra)) do not exist in protobuf and are left out.

pub(super) mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;
