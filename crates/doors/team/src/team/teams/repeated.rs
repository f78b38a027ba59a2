//! Messages that a viewer sends again under the id that it gave them: within a run each is one message.

use jackfield_core::task::IdempotencyKey;
use jackfield_model::Message;
use sha2::{Digest, Sha256};

use crate::team::stage::Run;

/// A longer id is not remembered.
const MAX_ID: usize = 256;

/// By what a repetition of a viewer's message to a member is known.
pub(super) fn once(run: &Run, route: &str, message: &Message) -> Option<IdempotencyKey> {
    let id = message.id.as_ref().filter(|id| id.len() <= MAX_ID)?;
    // What cannot be written cannot be compared.
    let written = serde_json::to_vec(message).ok()?;
    let digest = Sha256::new()
        .chain_update(route)
        .chain_update([0])
        .chain_update(written);
    Some(IdempotencyKey {
        key: format!("{}/{id}", run.id),
        digest: digest.finalize().into(),
    })
}
