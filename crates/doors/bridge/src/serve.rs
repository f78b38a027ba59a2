//! The way in for agents: a line becomes a session.

use std::sync::Arc;

use jackfield_kit::line::Line;

use crate::{DOOR, bridge::Bridge, session::Session};

impl Bridge {
    /// Runs a line as an agent's connection until it ends. `agent_id` is the id in the URL, which `register` must
    /// repeat.
    pub fn run(
        self: &Arc<Self>,
        mut line: Line,
        agent_id: Option<String>,
    ) -> impl Future<Output = ()> + Send + use<> {
        line.belongs_to(DOOR);
        let mut session = Session::new(self.clone(), line, agent_id);
        async move { session.run().await }
    }
}
