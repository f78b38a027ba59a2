//! Read position in a task's log. After a restart the hub replays the log from the start; the position keeps
//! the reader from receiving events twice.

use serde_json::Value;

use super::RawEvent;

/// Position in a task's log up to which the reader has received events, independent of the log's epoch.
#[derive(Debug, Default)]
pub(super) struct ReadPosition(u64);

impl ReadPosition {
    /// Returns the new part of an event, or `None` if the reader has all of it. Ends are always new: a log
    /// that became shorter has lost its tail, but not its end.
    pub(super) fn new_part(&mut self, mut event: RawEvent) -> Option<RawEvent> {
        let Some(next) = event.id.as_deref().and_then(position) else {
            return Some(event);
        };
        let seen = self.0;
        self.0 = seen.max(next);
        match event.name.as_str() {
            "call" | "done" | "failed" | "cancelled" => Some(event),
            _ if next <= seen => None,
            "chunk" => {
                let start = next.saturating_sub(advance(&event.data));
                if let Value::String(text) = &mut event.data["text"]
                    && let Ok(had) = usize::try_from(seen.saturating_sub(start))
                    && had < text.len()
                    && text.is_char_boundary(had)
                {
                    text.drain(..had);
                }
                Some(event)
            }
            _ => Some(event),
        }
    }
}

/// Returns the position in an event id, which is `epoch-position`.
fn position(id: &str) -> Option<u64> {
    id.split_once('-')?.1.parse().ok()
}

/// Returns how far a chunk advances the position: text by its bytes, other kinds by 1.
fn advance(chunk: &Value) -> u64 {
    let text = chunk["text"].as_str().unwrap_or_default();
    match chunk["kind"].as_str() {
        Some("tool_start" | "status") => 1,
        _ => text.len().max(1) as u64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(name: &str, id: &str, data: Value) -> RawEvent {
        RawEvent {
            name: name.to_owned(),
            id: Some(id.to_owned()),
            data,
        }
    }

    fn chunk(id: &str, text: &str) -> RawEvent {
        event("chunk", id, json!({"kind": "text", "text": text}))
    }

    #[test]
    fn a_log_read_out_again_repeats_nothing() {
        let mut place = ReadPosition::default();
        assert!(place.new_part(event("call", "1-0", json!({}))).is_some());
        assert!(place.new_part(event("message", "1-1", json!({}))).is_some());
        assert!(place.new_part(chunk("1-4", "h\u{e9}")).is_some());
        // The hub came back: everything again, joined.
        assert!(place.new_part(event("gap", "2-0", json!({}))).is_none());
        assert!(place.new_part(event("message", "2-1", json!({}))).is_none());
        let rest = place.new_part(chunk("2-7", "h\u{e9}llo")).unwrap();
        assert_eq!(rest.data["text"], "llo");
    }

    #[test]
    fn what_was_lost_is_told_and_an_end_is_always_new() {
        let mut place = ReadPosition::default();
        assert!(place.new_part(chunk("1-9", "long ago.")).is_some());
        assert!(place.new_part(event("gap", "1-20", json!({}))).is_some());
        assert!(place.new_part(event("failed", "2-3", json!({}))).is_some());
    }

    #[test]
    fn live_events_have_no_place() {
        let mut place = ReadPosition::default();
        let live = RawEvent {
            id: None,
            ..chunk("", "a")
        };
        assert!(place.new_part(live.clone()).is_some());
        assert!(place.new_part(live).is_some());
    }
}
