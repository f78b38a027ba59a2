//! The entry point for agents: starts a session for each [`Line`].

use std::sync::Arc;

use jackfield_kit::line::Line;

use crate::{DOOR, bridge::Bridge, session::Session};

impl Bridge {
    /// Runs a connection of an agent until its end. `agent_id` is the id in the URL, which `register` must
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
