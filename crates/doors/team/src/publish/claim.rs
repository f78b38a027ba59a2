//! What a published envelope claims to be, in the core's words.

use crate::{
    team::{
        event::{MemberStatus, TeamStatus},
        teams::{Claim, Said},
    },
    wire,
};

/// The claim of an envelope.
pub(super) fn of<'a>(envelope: &'a wire::Published<'_>) -> Claim<'a> {
    Claim {
        teams: envelope.team_ids.iter().map(Option::as_deref).collect(),
        nodes: envelope.nodes.iter().map(|name| &**name).collect(),
        said: match &envelope.said {
            wire::Said::Team { new } => Said::Team(team_status(*new)),
            wire::Said::Agent {
                name,
                agent_id,
                status,
            } => Said::Member {
                name,
                agent: agent_id.as_deref(),
                status: status.map(member_status),
            },
            wire::Said::TaskPlan => Said::Board,
        },
    }
}

fn team_status(status: wire::TeamStatus) -> TeamStatus {
    match status {
        wire::TeamStatus::Starting => TeamStatus::Starting,
        wire::TeamStatus::Idle => TeamStatus::Idle,
        wire::TeamStatus::Running => TeamStatus::Running,
        wire::TeamStatus::Paused => TeamStatus::Paused,
        wire::TeamStatus::Error => TeamStatus::Error,
        wire::TeamStatus::ShuttingDown => TeamStatus::ShuttingDown,
    }
}

fn member_status(status: wire::AgentStatus) -> MemberStatus {
    match status {
        wire::AgentStatus::Uninitialized => MemberStatus::Uninitialized,
        wire::AgentStatus::Bootstrapping => MemberStatus::Bootstrapping,
        wire::AgentStatus::Idle => MemberStatus::Idle,
        wire::AgentStatus::ProcessingUserInput => MemberStatus::ProcessingUserInput,
        wire::AgentStatus::AwaitingLlmResponse => MemberStatus::AwaitingLlmResponse,
        wire::AgentStatus::AnalyzingLlmResponse => MemberStatus::AnalyzingLlmResponse,
        wire::AgentStatus::AwaitingToolApproval => MemberStatus::AwaitingToolApproval,
        wire::AgentStatus::ToolDenied => MemberStatus::ToolDenied,
        wire::AgentStatus::ExecutingTool => MemberStatus::ExecutingTool,
        wire::AgentStatus::ProcessingToolResult => MemberStatus::ProcessingToolResult,
        wire::AgentStatus::ShuttingDown => MemberStatus::ShuttingDown,
        wire::AgentStatus::ShutdownComplete => MemberStatus::ShutdownComplete,
        wire::AgentStatus::Error => MemberStatus::Error,
    }
}
