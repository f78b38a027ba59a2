//! Prepared requests to an echo agent, by official A2A and by the seed's dialect, with the check of their answers.
//! Each request carries a number, so that an answer to another request is noticed.

use std::net::SocketAddr;

use anyhow::{Result, ensure};

use crate::http::{position, post};

/// Digits of a request's number.
const DIGITS: usize = 10;
/// Text after the number: with it, a message of 100 bytes.
const WORDS: &str =
    "the tide turns before dawn and the harbour lights go out one by one while the ferry waits ";
/// What every echo agent of the benchmark puts before the text.
pub(crate) const YOU_SAID: &str = "You said: ";

/// A request whose number can be changed, and what its answer must contain.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    request: Numbered,
    echo: Numbered,
    /// How the answer says that the task is complete.
    completed: &'static str,
}

impl Question {
    /// Creates an official A2A 1.0 request. `headers` are whole lines.
    pub(crate) fn official(addr: SocketAddr, path: &str, headers: &str, method: &str) -> Self {
        let text = text();
        let json = format!(
            r#"{{"jsonrpc":"2.0","id":"{ZEROS}","method":"{method}","params":{{"message":{{"messageId":"{ZEROS}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
        );
        let headers = format!("A2A-Version: 1.0\r\n{headers}");
        Self::new(post(addr, path, &headers, &json), "TASK_STATE_COMPLETED")
    }

    /// Creates a request of the seed's dialect to an agent of the hub: a live call.
    pub(crate) fn seed(addr: SocketAddr, agent: &str, method: &str) -> Self {
        let text = text();
        let json = format!(
            r#"{{"jsonrpc":"2.0","id":"{ZEROS}","method":"{method}","params":{{"message":{{"messageId":"{ZEROS}","role":"user","agentId":"{agent}","parts":[{{"kind":"text","text":"{text}"}}]}}}}}}"#
        );
        Self::new(
            post(addr, &format!("/a2a/{method}"), "", &json),
            r#""status":"completed""#,
        )
    }

    fn new(request: Vec<u8>, completed: &'static str) -> Self {
        let echo = format!("\"{YOU_SAID}{}\"", text());
        Self {
            request: Numbered::new(request),
            echo: Numbered::new(echo.into_bytes()),
            completed,
        }
    }

    /// Changes the number, and returns the bytes of the request.
    pub(crate) fn ask(&mut self, number: u64) -> &[u8] {
        self.echo.stamp(number);
        self.request.stamp(number);
        &self.request.bytes
    }

    /// Fails unless this is a complete task with the whole text of the request, echoed.
    pub(crate) fn check(&self, answer: &[u8]) -> Result<()> {
        let has = |part: &[u8]| position(answer, part).is_some();
        ensure!(
            has(&self.echo.bytes) && has(self.completed.as_bytes()),
            "a wrong answer: {}",
            String::from_utf8_lossy(answer)
        );
        Ok(())
    }

    /// Fails unless this is the whole stream of a task whose last piece is the text of the request.
    pub(crate) fn check_stream(&self, answer: &[u8]) -> Result<()> {
        let has = |part: &[u8]| position(answer, part).is_some();
        let text = &self.echo.bytes[1 + YOU_SAID.len()..];
        ensure!(
            has(text) && has(self.completed.as_bytes()),
            "a wrong stream: {}",
            String::from_utf8_lossy(answer)
        );
        Ok(())
    }
}

/// The number of a request that was not asked yet.
const ZEROS: &str = "0000000000";

fn text() -> String {
    format!("{ZEROS}{WORDS}")
}

/// Bytes with a number in several places.
#[derive(Debug, Clone)]
struct Numbered {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Numbered {
    fn new(bytes: Vec<u8>) -> Self {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(at) = position(&bytes[from..], ZEROS.as_bytes()) {
            places.push(from + at);
            from += at + DIGITS;
        }
        Self { bytes, places }
    }

    fn stamp(&mut self, number: u64) {
        let digits = format!("{number:0DIGITS$}");
        for place in &self.places {
            self.bytes[*place..place + DIGITS].copy_from_slice(&digits.as_bytes()[..DIGITS]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        let addr = "127.0.0.1:7".parse().unwrap();
        Question::official(addr, "/a2a/agents/echo", "", "SendMessage")
    }

    #[test]
    fn a_request_has_its_number_in_every_id_and_its_text_has_a_hundred_bytes() {
        let mut question = question();
        let request = String::from_utf8(question.ask(42).to_vec()).unwrap();
        let (head, json) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /a2a/agents/echo HTTP/1.1\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", json.len())));
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["id"], "0000000042");
        let message = &json["params"]["message"];
        assert_eq!(message["messageId"], "0000000042");
        let text = message["parts"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 100);
        assert!(text.starts_with("0000000042the tide"));
    }

    #[test]
    fn only_a_complete_task_with_the_echo_of_this_request_is_right() {
        let mut question = question();
        let answer = |number: u64, state: &str| {
            format!(r#"{{"state":"{state}","text":"{YOU_SAID}{number:010}{WORDS}"}}"#).into_bytes()
        };
        question.ask(7);
        assert!(question.check(&answer(7, "TASK_STATE_COMPLETED")).is_ok());
        assert!(question.check(&answer(6, "TASK_STATE_COMPLETED")).is_err());
        assert!(question.check(&answer(7, "TASK_STATE_WORKING")).is_err());
        // The request's own text in the history is no echo.
        let history = format!(r#"{{"state":"TASK_STATE_COMPLETED","text":"0000000007{WORDS}"}}"#);
        assert!(question.check(history.as_bytes()).is_err());
    }
}
