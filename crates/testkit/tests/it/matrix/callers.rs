//! Callers of every protocol.

mod a2a;
mod acp;
mod agora;
mod bridge;
mod openai;
mod p2p;
mod team;

pub(crate) use self::{
    a2a::A2a, acp::Acp, agora::Agora, bridge::Bridge, openai::OpenAi, p2p::P2p, team::Team,
};
