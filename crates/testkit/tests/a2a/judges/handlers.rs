//! Agents of the SDK: attached to the hub over the network, and in its process.

use jackfield_sdk::{Agent, Reply};

use super::behaviour::{Mouth, Releases, answer};

/// Waits for the answers to its questions.
struct Waiting(Reply);

impl Mouth for Waiting {
    async fn say(&mut self, text: &str) {
        // The call may be over.
        self.0.text(text).await.ok();
    }

    async fn ask(&mut self, question: &str) -> Option<String> {
        Some(self.0.ask(question).await.ok()?.text)
    }
}

/// Ends its turn with a question.
struct Ending(Reply);

impl Mouth for Ending {
    async fn say(&mut self, text: &str) {
        self.0.text(text).await.ok();
    }

    async fn ask(&mut self, question: &str) -> Option<String> {
        self.say(question).await;
        self.0.input_required();
        None
    }
}

/// An agent that asks while it works.
pub(super) fn waiting(id: &str, releases: Releases) -> Agent {
    Agent::new(id).on_message(move |message, reply| {
        let releases = releases.clone();
        async move {
            answer(&message.text, &mut Waiting(reply), &releases).await;
            Ok(())
        }
    })
}

/// An agent that asks by ending its turn.
pub(super) fn ending(id: &str, releases: Releases) -> Agent {
    Agent::new(id).on_message(move |message, reply| {
        let releases = releases.clone();
        async move {
            answer(&message.text, &mut Ending(reply), &releases).await;
            Ok(())
        }
    })
}
