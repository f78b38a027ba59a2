//! An echo agent in this process, attached to the hub by Agora: the cheapest agent there is. It answers every
//! message that has arrived with one write.

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use crate::{
    client::{Connection, Target},
    frame::client_text,
    http::position,
    question::YOU_SAID,
};

/// A running echo agent; dropping it disconnects it.
#[derive(Debug)]
pub(crate) struct EchoAgent(JoinSet<Result<()>>);

impl EchoAgent {
    /// Attaches the agent. The hub knows it when the function returns.
    pub(crate) async fn attach(target: Target, id: &str) -> Result<Self> {
        let line = Connection::open(target, id).await?;
        let mut running = JoinSet::new();
        running.spawn(echo(line));
        Ok(Self(running))
    }

    /// Fails if the agent was disconnected.
    pub(crate) fn check_connected(&mut self) -> Result<()> {
        match self.0.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("the echo agent was lost"),
        }
    }
}

async fn echo(mut line: Connection) -> Result<()> {
    let mut answers = Vec::new();
    loop {
        line.arrived_texts(|frame| {
            answers.extend(client_text(&answer_to(frame)?));
            Ok(())
        })
        .await?;
        line.write(&answers).await?;
        answers.clear();
    }
}

/// Returns the reply to a `message` frame, whose texts have no escapes.
fn answer_to(frame: &[u8]) -> Result<String> {
    let field = |name: &str| {
        let begin = position(frame, name.as_bytes())? + name.len();
        let length = frame[begin..].iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(&frame[begin..begin + length]).ok()
    };
    match (
        field("\"type\":\""),
        field("\"from\":\""),
        field("\"question\":\""),
    ) {
        (Some("message"), Some(from), Some(question)) => Ok(format!(
            r#"{{"type":"reply","to":"{from}","payload":{{"answer":"{YOU_SAID}{question}"}}}}"#
        )),
        _ => bail!("the hub says {}", String::from_utf8_lossy(frame)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackfield_agora::wire::{AgoraUplink, parse};

    #[test]
    fn the_answer_goes_to_the_call_and_repeats_the_question() {
        let message = br#"{"type":"message","from":"call:17","payload":{"action":"query","body":{"question":"0000000001the tide"},"request_id":"r"},"caller":"local"}"#;
        let answer = answer_to(message).unwrap();
        let Ok(AgoraUplink::Relay(reply)) = parse(&answer) else {
            panic!("{answer}");
        };
        assert_eq!(reply.to, "call:17");
        assert!(answer.contains(r#""answer":"You said: 0000000001the tide""#));
    }

    #[test]
    fn anything_but_a_message_is_a_failure() {
        let cancel = br#"{"type":"cancel","from":"call:17","request_id":"r"}"#;
        assert!(answer_to(cancel).is_err());
    }
}
