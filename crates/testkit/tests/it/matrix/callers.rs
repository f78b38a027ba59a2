//! Callers of every protocol.

mod a2a;
mod agora;
mod bridge;
mod openai;
mod p2p;
mod team;

pub(crate) use self::{
    a2a::A2a, agora::Agora, bridge::Bridge, openai::OpenAi, p2p::P2p, team::Team,
};
