//! Permission requests of an ACP agent, and the responses to them. Pure.

use serde_json::{Value, json};

/// Returns the tool that the agent wants to use, and its input.
pub(super) fn question(params: &Value) -> (String, Value) {
    let call = &params["toolCall"];
    let names = [&call["name"], &call["title"], &call["kind"]];
    let tool = names.into_iter().find_map(Value::as_str);
    let mut arguments = match &call["rawInput"] {
        Value::Null => json!({}),
        input => input.clone(),
    };
    // Add the title for people, if the tool has a name of its own.
    if let (Some(title), Some(input)) = (call["title"].as_str(), arguments.as_object_mut())
        && input.is_empty()
        && tool != Some(title)
    {
        input.insert("title".to_owned(), title.into());
    }
    (tool.unwrap_or("a tool").to_owned(), arguments)
}

/// Response to a permission request.
#[derive(Debug, PartialEq)]
pub(super) struct PermissionAnswer {
    /// Result for the agent.
    pub(super) result: Value,
    /// Explanation for people.
    pub(super) note: Option<&'static str>,
}

/// Builds the response to a request. The owner's approval allows a single use: options that last longer are
/// never chosen, unless the agent is trusted.
pub(super) fn answer(params: &Value, is_approved: bool, is_trusted: bool) -> PermissionAnswer {
    let kinds: &[&str] = match (is_approved, is_trusted) {
        (true, true) => &["allow_once", "allow_always"],
        (true, false) => &["allow_once"],
        (false, _) => REJECTIONS,
    };
    if let Some(chosen) = choose(params, kinds) {
        return PermissionAnswer {
            result: selected(chosen),
            note: None,
        };
    }
    let note = "the agent offers no way to allow this once, so it is refused; --trust allows it";
    PermissionAnswer {
        result: choose(params, REJECTIONS).map_or_else(cancelled, selected),
        note: is_approved.then_some(note),
    }
}

const REJECTIONS: &[&str] = &["reject_once", "reject_always"];

/// Builds the response to a request of a turn that is over.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

/// Returns the agent's option of the first kind in `kinds` that is offered.
fn choose<'a>(params: &'a Value, kinds: &[&str]) -> Option<&'a str> {
    let options = params["options"].as_array()?;
    kinds.iter().find_map(|kind| {
        let option = options.iter().find(|option| option["kind"] == *kind)?;
        option["optionId"].as_str()
    })
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request as in the protocol's page on tool calls.
    fn request(kinds: &[&str]) -> Value {
        let option =
            |kind: &&str| json!({"optionId": format!("the-{kind}"), "name": kind, "kind": kind});
        json!({
            "sessionId": "sess_abc123def456",
            "toolCall": {"toolCallId": "call_001", "title": "Write to notes.txt", "kind": "edit", "rawInput": {"path": "notes.txt"}},
            "options": kinds.iter().map(option).collect::<Vec<_>>(),
        })
    }

    fn chosen(kinds: &[&str], is_approved: bool, is_trusted: bool) -> Option<String> {
        let answer = answer(&request(kinds), is_approved, is_trusted).result;
        let outcome = &answer["outcome"];
        match outcome["outcome"].as_str().unwrap() {
            "selected" => Some(outcome["optionId"].as_str().unwrap().to_owned()),
            other => {
                assert_eq!(other, "cancelled");
                None
            }
        }
    }

    const ALL: &[&str] = &["allow_always", "allow_once", "reject_always", "reject_once"];

    #[test]
    fn what_the_owner_allows_is_allowed_once_and_never_for_longer() {
        assert_eq!(chosen(ALL, true, false).unwrap(), "the-allow_once");
        assert_eq!(chosen(ALL, true, true).unwrap(), "the-allow_once");
        let without_once = &["allow_always", "reject_once"];
        assert_eq!(
            chosen(without_once, true, false).unwrap(),
            "the-reject_once"
        );
        assert!(
            answer(&request(without_once), true, false)
                .note
                .unwrap()
                .contains("--trust")
        );
        assert_eq!(
            chosen(without_once, true, true).unwrap(),
            "the-allow_always"
        );
    }

    #[test]
    fn what_the_owner_refuses_is_refused_once_if_that_can_be_said() {
        assert_eq!(chosen(ALL, false, true).unwrap(), "the-reject_once");
        assert_eq!(
            chosen(&["allow_once", "reject_always"], false, false).unwrap(),
            "the-reject_always"
        );
        assert_eq!(chosen(&["allow_once"], false, false), None);
        assert_eq!(chosen(&[], true, true), None);
    }

    #[test]
    fn the_question_names_the_tool_and_its_input() {
        assert_eq!(
            question(&request(&[])),
            (
                "Write to notes.txt".to_owned(),
                json!({"path": "notes.txt"})
            )
        );
        let named = json!({"toolCall": {"name": "Bash", "title": "ls"}});
        assert_eq!(
            question(&named),
            ("Bash".to_owned(), json!({"title": "ls"}))
        );
        assert_eq!(question(&json!({})), ("a tool".to_owned(), json!({})));
    }
}
