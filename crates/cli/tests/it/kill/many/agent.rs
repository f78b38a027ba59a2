//! The agents of the random test: they send text whenever there is no frame to read.

use jackfield_testkit::{Raw, bridge_register};
use serde_json::Value;

use super::TestState;
use crate::kill::{
    agent::{chunk, done, text},
    memory::Memory,
    random::SeededRandom,
};

/// A connection of an agent.
pub(super) struct Agent<'a> {
    state: &'a TestState,
    /// For an agent that resumes.
    memory: Option<&'a mut Memory>,
    raw: Raw,
    /// Unfinished requests.
    open: Vec<String>,
}

impl<'a> Agent<'a> {
    pub(super) fn new(state: &'a TestState, raw: Raw, memory: Option<&'a mut Memory>) -> Self {
        Self {
            state,
            memory,
            raw,
            open: Vec::new(),
        }
    }

    /// Works until the connection is closed.
    pub(super) async fn serve(mut self, id: &str, random: &mut SeededRandom) -> Option<()> {
        let first = match &self.memory {
            Some(memory) => memory.register(id),
            None => bridge_register(id),
        };
        self.write(&first).await?;
        let registered = self.raw.wait_text().await?;
        let registered: Value = serde_json::from_str(&registered).expect("JSON");
        assert_eq!(registered["status"], "ok", "{registered}");
        if let Some(memory) = &mut self.memory {
            let again = memory.registered(&registered);
            self.open = memory.unfinished();
            for frame in again {
                self.write(&frame).await?;
            }
        }
        self.state.moment();
        loop {
            let has_words = !self.open.is_empty();
            tokio::select! {
                biased;
                frame = self.raw.wait_text() => self.on_frame(&frame?),
                () = tokio::task::yield_now(), if has_words => self.send_piece(random).await?,
            }
        }
    }

    fn on_frame(&mut self, frame: &str) {
        let frame: Value = serde_json::from_str(frame).expect("JSON");
        if let Some(memory) = &mut self.memory
            && frame["type"] == "ack"
        {
            memory.acked(&frame);
            return;
        }
        assert_eq!(frame["type"], "message", "{frame}");
        let request = text(&frame, "request_id");
        if let Some(memory) = &mut self.memory {
            memory.begin(&request);
        }
        let before = self
            .state
            .seen
            .lock()
            .answers
            .insert(request.clone(), String::new());
        assert_eq!(before, None, "{request} is run twice");
        self.state.moment();
        self.open.push(request);
    }

    /// Adds a word to an answer, or ends the answer. Each answer has a word: an empty answer right after another of its
    /// session would count as that answer's end.
    async fn send_piece(&mut self, random: &mut SeededRandom) -> Option<()> {
        let at = usize::try_from(random.below(self.open.len() as u64)).expect("small");
        let has_words = !self.state.seen.lock().answers[&self.open[at]].is_empty();
        let mut frame = if has_words && random.below(3) == 0 {
            done(&self.open.swap_remove(at), "")
        } else {
            let piece = format!("{} ", random.below(1000));
            let mut seen = self.state.seen.lock();
            let answers = seen.answers.get_mut(&self.open[at]);
            answers.expect("it works on it").push_str(&piece);
            chunk(&self.open[at], &piece)
        };
        if let Some(memory) = &mut self.memory {
            frame = memory.keep(frame);
        }
        self.write(&frame).await
    }

    async fn write(&mut self, frame: &Value) -> Option<()> {
        let is_written = self.raw.maybe_send_text(&frame.to_string()).await;
        is_written.then_some(())
    }
}
