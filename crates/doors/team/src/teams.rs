//! `/v1/teams`: which there are, and what their owners make of them.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{
        Actor, ActsAs, Body, CallRefused, Caller, ErrorView, Id, Problem, Refused, Unread, invalid,
    },
    json::Object,
};
use jackfield_model::{AgentId, Failure};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    TeamDoor, Teams,
    team::{Member, MemberOf, TeamSpec},
    view::{NewMember, Team, TeamList},
};

/// A team that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTeam {
    /// Its id, which no agent and no other team has.
    #[schema(value_type = String, pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    id: AgentId,
    /// A name for people; its id if left out.
    #[schema(nullable = false)]
    name: Option<String>,
    /// What it is for.
    #[schema(nullable = false)]
    description: Option<String>,
    /// The name of the member that calls of the team go to: an agent. The first agent of the members if left out.
    #[schema(nullable = false)]
    coordinator: Option<String>,
    /// Its members.
    #[schema(value_type = Vec<NewMember>, min_items = 1)]
    members: Vec<Object<NewMember>>,
}

/// What is to be changed of a team; what is not named stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamChange {
    /// A name for people; its id if empty.
    #[schema(nullable = false)]
    name: Option<String>,
    /// What it is for; nothing if empty.
    #[schema(nullable = false)]
    description: Option<String>,
    /// The name of the member that calls of the team go to: an agent.
    #[schema(nullable = false)]
    coordinator: Option<String>,
    /// All its members.
    #[schema(value_type = Option<Vec<NewMember>>, nullable = false, min_items = 1)]
    members: Option<Vec<Object<NewMember>>>,
}

impl TeamChange {
    fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.description.is_none()
            && self.coordinator.is_none()
            && self.members.is_none()
    }
}

/// The team id of a path. What cannot be one looks like any that is unknown.
pub(crate) fn team_id(text: &str) -> Result<AgentId, Failure> {
    AgentId::parse(text).map_err(|_| Failure::no_such_team(text))
}

fn members(
    given: Vec<Object<NewMember>>,
    teams: &Teams,
    principal: &Principal,
) -> Result<Vec<Member>, Failure> {
    let is_team = |id: &AgentId| teams.get(principal, id.as_str()).is_ok();
    let given = given.into_iter().enumerate();
    let members = given.map(|(at, member)| member.0.member(at, is_team));
    members.collect()
}

/// The member that calls go to: the one that is named, or the first agent.
fn coordinator(named: Option<String>, members: &[Member]) -> Result<Arc<str>, Failure> {
    let first = || {
        let mut agents = members.iter();
        agents.find(|member| matches!(member.of, MemberOf::Agent(_)))
    };
    match named {
        Some(named) => Ok(named.into()),
        None => first().map(|member| member.name.clone()).ok_or_else(|| {
            let text = "needs an agent, which calls of the team go to";
            invalid(format!("field \"members\" {text}"))
        }),
    }
}

/// A name for people: there always is one.
fn name(given: String, id: &AgentId) -> String {
    if given.is_empty() {
        return id.to_string();
    }
    given
}

fn filled(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Lists the teams that you may see, by id: yours, those that you may call or watch, and those that you are in.
#[utoipa::path(
    get,
    path = "/v1/teams",
    tag = "teams",
    params(ActsAs),
    responses((status = 200, description = "The teams", body = TeamList), Refused),
)]
pub(crate) async fn list(State(door): State<TeamDoor>, Actor(principal): Actor) -> Json<TeamList> {
    let teams = door.teams.list(&principal);
    let teams = teams.iter().map(Team::from).collect();
    Json(TeamList { teams })
}

/// Makes a team of agents that you may call, and of teams. It is an agent from then on, which your token must be allowed
/// to register: calls of it go to its coordinator.
#[utoipa::path(
    post,
    path = "/v1/teams",
    tag = "teams",
    request_body = NewTeam,
    responses((status = 201, description = "The team", body = Team), CallRefused),
)]
pub(crate) async fn create(
    State(door): State<TeamDoor>,
    Caller(principal): Caller,
    Body(new): Body<NewTeam>,
) -> Result<(StatusCode, Json<Team>), Problem> {
    let members = members(new.members, &door.teams, &principal)?;
    let spec = TeamSpec {
        name: name(new.name.unwrap_or_default(), &new.id),
        description: new.description.and_then(filled),
        coordinator: coordinator(new.coordinator, &members)?,
        members,
    };
    let (team, saved) = door.teams.create(&principal, &new.id, spec)?;
    saved.await?;
    tracing::info!(team = %new.id, by = %principal.owner, "team made");
    Ok((StatusCode::CREATED, Json(Team::from(&team))))
}

/// Shows a team: its members, how it is doing, and all agents of its tree.
#[utoipa::path(
    get,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAs),
    responses(
        (status = 200, description = "The team", body = Team),
        Refused,
        (status = 404, description = "No such team, or none that you may see: not_found", body = ErrorView),
    ),
)]
pub(crate) async fn show(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    Id(id): Id,
) -> Result<Json<Team>, Problem> {
    let id = team_id(&id)?;
    let team = door.teams.get(&principal, id.as_str())?;
    Ok(Json(Team::from(&team)))
}

/// Changes a team; what its members are doing goes on. Only its owner and admins may.
#[utoipa::path(
    patch,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team")),
    request_body = TeamChange,
    responses((status = 200, description = "The team as it is now", body = Team), CallRefused),
)]
pub(crate) async fn change(
    State(door): State<TeamDoor>,
    Caller(principal): Caller,
    Id(id): Id,
    body: Unread,
) -> Result<Json<Team>, Problem> {
    let id = team_id(&id)?;
    door.teams.get(&principal, id.as_str())?;
    let change: TeamChange = body.read(&door).await?;
    if change.is_empty() {
        let text = "the body changes nothing: give name, description, coordinator or members";
        return Err(invalid(text).into());
    }
    let given = change.members;
    let members = given.map(|given| members(given, &door.teams, &principal));
    let members = members.transpose()?;
    let changed = door.teams.change(&principal, &id, |spec| TeamSpec {
        name: change.name.map_or(spec.name, |given| name(given, &id)),
        description: change.description.map_or(spec.description, filled),
        coordinator: change.coordinator.map_or(spec.coordinator, Into::into),
        members: members.unwrap_or(spec.members),
    });
    let (team, saved) = changed?;
    saved.await?;
    tracing::info!(team = %id, by = %principal.owner, "team changed");
    Ok(Json(Team::from(&team)))
}

/// Forgets a team and its board; its members stay. Only its owner and admins may.
#[utoipa::path(
    delete,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team")),
    responses(
        (status = 204, description = "It is forgotten"),
        Refused,
        (status = 404, description = "No such team, or none that you may see: not_found", body = ErrorView),
        (status = 409, description = "It is a member of another team: conflict", body = ErrorView),
    ),
)]
pub(crate) async fn remove(
    State(door): State<TeamDoor>,
    Caller(principal): Caller,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    let id = team_id(&id)?;
    door.teams.remove(&principal, &id)?.await?;
    tracing::info!(team = %id, by = %principal.owner, "team forgotten");
    Ok(StatusCode::NO_CONTENT)
}
