//! Helper prompts: with these, Open WebUI asks the model of a chat for a title, tags, follow-up questions, search
//! queries and the like. An agent would work on them, with its tools; the door answers them itself.
//!
//! A helper prompt begins with `### Task:`, shows the chat, and asks for an object with one known key. The prompt with
//! which Open WebUI passes on documents (RAG) begins alike and asks for no object: it is a question of the user.

use serde_json::{Value, json};

use crate::limits::TITLE;

/// Returns the answer to a helper prompt. `None` for any other message.
pub(crate) fn answer(text: &str) -> Option<String> {
    if !text.trim_start().starts_with("### Task:") {
        return None;
    }
    let chat = between(text, "<chat_history>", "</chat_history>")?;
    let output = text.split("### Output:").nth(1)?;
    let output = output.split("\n### ").next().unwrap_or(output);
    let asks_for = |key: &str| output.contains(&format!("\"{key}\""));
    let answer = if asks_for("title") {
        json!({"title": title(chat)})
    } else if asks_for("tags") {
        json!({"tags": ["General"]})
    } else if asks_for("follow_ups") {
        json!({"follow_ups": []})
    } else if asks_for("queries") {
        json!({"queries": []})
    } else if asks_for("prompt") {
        json!({"prompt": title(chat)})
    } else if asks_for("text") {
        // The completion of what the user is typing.
        json!({"text": ""})
    } else {
        return None;
    };
    Some(Value::to_string(&answer))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.rsplit_once(end).map(|(inside, _)| inside)
}

/// Returns the beginning of the first message in the chat, at the end of a word.
fn title(chat: &str) -> String {
    let first = chat.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.unwrap_or("Chat");
    let first = ["USER:", "User:", "user:"]
        .iter()
        .find_map(|speaker| first.strip_prefix(speaker))
        .unwrap_or(first);
    let words: Vec<&str> = first.split_whitespace().collect();
    let mut title = String::new();
    for word in words {
        if title.chars().count() + word.chars().count() >= TITLE {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    match title.is_empty() {
        true => "Chat".to_owned(),
        false => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(output: &str) -> String {
        format!(
            "### Task:\nGenerate something for the chat.\n### Guidelines:\n- Be short.\n### Output:\n{output}\n\
             ### Chat History:\n<chat_history>\nUSER: How do I bake bread?\nASSISTANT: With flour.\n</chat_history>"
        )
    }

    #[test]
    fn prompts_for_titles_tags_questions_and_queries_are_answered() {
        for (output, expected) in [
            (
                r#"JSON format: { "title": "your title" }"#,
                r#"{"title":"How do I bake bread?"}"#,
            ),
            (
                r#"JSON format: { "tags": ["tag1"] }"#,
                r#"{"tags":["General"]}"#,
            ),
            (
                r#"JSON format: { "follow_ups": ["Q?"] }"#,
                r#"{"follow_ups":[]}"#,
            ),
            (r#"Strictly return: { "queries": [] }"#, r#"{"queries":[]}"#),
            (r#"JSON format: { "text": "" }"#, r#"{"text":""}"#),
        ] {
            assert_eq!(
                answer(&prompt(output)).as_deref(),
                Some(expected),
                "{output}"
            );
        }
    }

    #[test]
    fn everything_else_is_for_the_agent() {
        let documents = "### Task:\nRespond to the user query using the provided context.\n### Guidelines:\n- Cite.\n\
                         ### Output:\nProvide a clear and direct response.\n<context>\n\"title\"\n</context>\nWhat is it?";
        for text in [
            documents,
            "### Task:\nWrite a title.",
            "hi",
            &prompt("A poem."),
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[test]
    fn a_title_ends_with_a_word() {
        let long = format!("USER: {}", "word ".repeat(50));
        let made = title(&long);
        assert!(made.len() < TITLE && made.ends_with("word"), "{made}");
        assert_eq!(title("\n\n"), "Chat");
        assert_eq!(title(&"x".repeat(500)), "Chat");
    }
}
