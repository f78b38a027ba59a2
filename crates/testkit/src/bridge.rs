//! Bridge agents, as [`Raw`] connections to `/ws?agent_id=…`.

use serde_json::{Value, json};

use crate::{Raw, TestHub};

/// Returns the `register` frame of the published client, version 2.
pub fn bridge_register(id: &str) -> Value {
    json!({"type": "register", "agent_id": id, "token": "ah_from_elsewhere", "bridge_version": "2", "agent_type": "claude", "capabilities": []})
}

impl TestHub {
    /// Opens a connection for a bridge agent without sending a frame.
    pub async fn connect_bridge(&self, id: &str) -> Raw {
        Raw::connect(self.addr(), &format!("/ws?agent_id={id}")).await
    }

    /// Connects and registers a bridge agent, as the published client does.
    pub async fn bridge(&self, id: &str) -> Raw {
        self.bridge_as(id, json!({})).await
    }

    /// Connects and registers a bridge agent with a token.
    pub async fn bridge_of(&self, token: &str, id: &str) -> Raw {
        self.bridge_as(id, json!({"token": token})).await
    }

    /// Connects and registers a bridge agent that supports the given extensions.
    pub async fn bridge_with(&self, id: &str, extensions: &[&str]) -> Raw {
        self.bridge_as(id, json!({"extensions": extensions})).await
    }

    /// Connects and registers a bridge agent with changed fields in its `register` frame.
    pub async fn bridge_as(&self, id: &str, changes: Value) -> Raw {
        let mut raw = self.connect_bridge(id).await;
        let mut register = bridge_register(id);
        for (name, value) in changes.as_object().expect("an object") {
            register[name] = value.clone();
        }
        raw.send(register).await;
        let registered = raw.frame().await;
        assert_eq!(
            (&registered["type"], &registered["status"]),
            (&json!("registered"), &json!("ok")),
            "{registered}"
        );
        raw
    }
}

impl Raw {
    /// Asserts that the next frame is a request with this content, and returns its `request_id`.
    pub async fn expect_message(&mut self, content: &str) -> String {
        let frame = self.frame().await;
        assert_eq!(
            (&frame["type"], &frame["content"]),
            (&json!("message"), &json!(content)),
            "{frame}"
        );
        frame["request_id"].as_str().expect("a text").to_owned()
    }

    /// Asserts that no frame arrives before the answer to a `discover_agents` request. The hub keeps the
    /// order of frames.
    pub async fn expect_no_bridge_frame(&mut self) {
        self.send(json!({"type": "discover_agents", "capability": "nobody has this one"}))
            .await;
        self.expect(json!({"type": "discover_agents_result", "agents": []}))
            .await;
    }
}
