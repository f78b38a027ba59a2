//! The Agora door: agents that meet over one WebSocket relay.
