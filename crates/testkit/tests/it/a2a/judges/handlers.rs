//! Agents of the SDK: attached to the hub over the network, and in its process.

use jackfield_sdk::{Agent, File, FileSource, Message, Reply};

use super::behaviour::{Releases, Responder, answer};

/// How an agent asks.
#[derive(Debug, Clone, Copy)]
enum Asking {
    /// Waits for the answers to its questions.
    Waiting,
    /// Ends its turn with a question.
    Ending,
}

/// An open call of an agent.
struct Work {
    asking: Asking,
    message: Message,
    reply: Reply,
}

impl Responder for Work {
    async fn send_text(&mut self, text: &str) {
        // The call may be over.
        self.reply.text(text).await.ok();
    }

    async fn ask(&mut self, question: &str) -> Option<String> {
        match self.asking {
            Asking::Waiting => Some(self.reply.ask(question).await.ok()?.text),
            Asking::Ending => {
                self.send_text(question).await;
                self.reply.input_required();
                None
            }
        }
    }

    fn file(&self) -> Option<Vec<u8>> {
        match &self.message.attachments().next()?.source {
            FileSource::Bytes(base64) => base64.decode().ok(),
            FileSource::Uri(_) => None,
        }
    }

    async fn give(&mut self, bytes: Vec<u8>) {
        self.reply.attach(File::bytes(bytes)).await.ok();
    }
}

fn agent(id: &str, asking: Asking, releases: Releases) -> Agent {
    Agent::new(id).on_message(move |message, reply| {
        let releases = releases.clone();
        async move {
            let text = message.text.clone();
            let mut work = Work {
                asking,
                message,
                reply,
            };
            answer(&text, &mut work, &releases).await;
            Ok(())
        }
    })
}

/// An agent that asks during its turn.
pub(crate) fn waiting(id: &str, releases: Releases) -> Agent {
    agent(id, Asking::Waiting, releases)
}

/// An agent that asks by ending its turn.
pub(super) fn ending(id: &str, releases: Releases) -> Agent {
    agent(id, Asking::Ending, releases)
}
