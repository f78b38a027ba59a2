//! Idempotency of viewers' messages: a message sent repeatedly under the same id counts once per run.

use jackfield_core::task::IdempotencyKey;
use jackfield_model::Message;
use sha2::{Digest, Sha256};

use crate::team::feed::TeamRun;

/// Maximum length of a message id. Longer ids are ignored.
const MAX_ID: usize = 256;

/// Returns the idempotency key of a viewer's message to a member.
pub(super) fn idempotency_key(
    run: &TeamRun,
    route: &str,
    message: &Message,
) -> Option<IdempotencyKey> {
    let id = message.id.as_ref().filter(|id| id.len() <= MAX_ID)?;
    // A message that cannot be serialized cannot be compared.
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
