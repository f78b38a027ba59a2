//! Agents of the bridge, as raw connections to `/ws?agent_id=…`.

use serde_json::{Value, json};

use crate::{Raw, TestHub};

/// The `register` of the published client, version 2.
pub fn bridge_register(id: &str) -> Value {
    json!({"type": "register", "agent_id": id, "token": "ah_from_elsewhere", "bridge_version": "2", "agent_type": "claude", "capabilities": []})
}

impl TestHub {
    /// A connection for a bridge agent that has sent nothing.
    pub async fn connect_bridge(&self, id: &str) -> Raw {
        Raw::connect(self.addr(), &format!("/ws?agent_id={id}")).await
    }

    /// A bridge agent with this id, as the published client is one.
    pub async fn bridge(&self, id: &str) -> Raw {
        self.bridge_as(id, json!({})).await
    }

    /// A bridge agent of whoever holds the token.
    pub async fn bridge_of(&self, token: &str, id: &str) -> Raw {
        self.bridge_as(id, json!({"token": token})).await
    }

    /// A bridge agent that understands these extensions.
    pub async fn bridge_with(&self, id: &str, extensions: &[&str]) -> Raw {
        self.bridge_as(id, json!({"extensions": extensions})).await
    }

    /// A bridge agent with some fields of its `register` changed.
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
    /// The next frame brings a request in these words; its `request_id`.
    pub async fn expect_message(&mut self, content: &str) -> String {
        let frame = self.frame().await;
        assert_eq!(
            (&frame["type"], &frame["content"]),
            (&json!("message"), &json!(content)),
            "{frame}"
        );
        frame["request_id"].as_str().expect("a text").to_owned()
    }

    /// Whether nothing more comes to a bridge agent before the answer to a question, which keeps the order.
    pub async fn expect_no_bridge_frame(&mut self) {
        self.send(json!({"type": "discover_agents", "capability": "nobody has this one"}))
            .await;
        self.expect(json!({"type": "discover_agents_result", "agents": []}))
            .await;
    }
}
