//! `/v1/teams`: listing, creating, showing, changing and removing teams.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{
        Actor, ActsAsHeader, ApiError, ApiErrorBody, AuthenticatedCaller, CallErrorResponses,
        ErrorResponses, JsonBody, PathId, UnreadBody, invalid,
    },
    json::StrictObject,
};
use jackfield_model::{AgentId, Failure};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    TeamDoor, Teams,
    team::{MemberKind, MemberSpec, TeamSpec},
    view::{NewMember, Team, TeamList},
};

/// Team to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTeam {
    /// Id of the team, not used by any agent or team.
    #[schema(value_type = String, pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    id: AgentId,
    /// Display name. Defaults to the id.
    #[schema(nullable = false)]
    name: Option<String>,
    /// Purpose of the team.
    #[schema(nullable = false)]
    description: Option<String>,
    /// Name of the member that receives calls of the team. Must be an agent. Defaults to the first agent of
    /// the members.
    #[schema(nullable = false)]
    coordinator: Option<String>,
    /// Members of the team.
    #[schema(value_type = Vec<NewMember>, min_items = 1)]
    members: Vec<StrictObject<NewMember>>,
}

/// Changes of a team. Fields left out stay unchanged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamChange {
    /// Display name. Empty resets the name to the id.
    #[schema(nullable = false)]
    name: Option<String>,
    /// Purpose of the team. Empty removes the description.
    #[schema(nullable = false)]
    description: Option<String>,
    /// Name of the member that receives calls of the team. Must be an agent.
    #[schema(nullable = false)]
    coordinator: Option<String>,
    /// Complete list of members.
    #[schema(value_type = Option<Vec<NewMember>>, nullable = false, min_items = 1)]
    members: Option<Vec<StrictObject<NewMember>>>,
}

impl TeamChange {
    fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.description.is_none()
            && self.coordinator.is_none()
            && self.members.is_none()
    }
}

/// Parses the team id of a path. An invalid id fails like an unknown id.
pub(crate) fn team_id(text: &str) -> Result<AgentId, Failure> {
    AgentId::parse(text).map_err(|_| Failure::no_such_team(text))
}

fn members(
    given: Vec<StrictObject<NewMember>>,
    teams: &Teams,
    principal: &Principal,
) -> Result<Vec<MemberSpec>, Failure> {
    let is_team = |id: &AgentId| teams.get(principal, id.as_str()).is_ok();
    let given = given.into_iter().enumerate();
    let members = given.map(|(at, member)| member.0.member(at, is_team));
    members.collect()
}

/// Returns the name of the coordinator: the given name, or the first agent.
fn coordinator(named: Option<String>, members: &[MemberSpec]) -> Result<Arc<str>, Failure> {
    let first = || {
        let mut agents = members.iter();
        agents.find(|member| matches!(member.of, MemberKind::Agent(_)))
    };
    match named {
        Some(named) => Ok(named.into()),
        None => first().map(|member| member.name.clone()).ok_or_else(|| {
            let text = "needs an agent, which calls of the team go to";
            invalid(format!("field \"members\" {text}"))
        }),
    }
}

/// Returns the display name, or the id for an empty name.
fn name(given: String, id: &AgentId) -> String {
    if given.is_empty() {
        return id.to_string();
    }
    given
}

fn filled(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Lists the teams that you may see, sorted by id: your teams, teams that you may call or watch, and teams
/// with you as a member.
#[utoipa::path(
    get,
    path = "/v1/teams",
    tag = "teams",
    params(ActsAsHeader),
    responses((status = 200, description = "The teams", body = TeamList), ErrorResponses),
)]
pub(crate) async fn list(State(door): State<TeamDoor>, Actor(principal): Actor) -> Json<TeamList> {
    let teams = door.teams.list(&principal);
    let teams = teams.iter().map(Team::from).collect();
    Json(TeamList { teams })
}

/// Creates a team of agents and teams that you may call. The team is an agent from then on, so your token
/// must be allowed to register its id. Calls of the team go to its coordinator.
#[utoipa::path(
    post,
    path = "/v1/teams",
    tag = "teams",
    request_body = NewTeam,
    responses((status = 201, description = "The team", body = Team), CallErrorResponses),
)]
pub(crate) async fn create(
    State(door): State<TeamDoor>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    JsonBody(new): JsonBody<NewTeam>,
) -> Result<(StatusCode, Json<Team>), ApiError> {
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

/// Shows a team: its members, its status, and all agents of its tree.
#[utoipa::path(
    get,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    responses(
        (status = 200, description = "The team", body = Team),
        ErrorResponses,
        (status = 404, description = "No such team, or none that you may see: not_found", body = ApiErrorBody),
    ),
)]
pub(crate) async fn show(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
) -> Result<Json<Team>, ApiError> {
    let id = team_id(&id)?;
    let team = door.teams.get(&principal, id.as_str())?;
    Ok(Json(Team::from(&team)))
}

/// Changes a team. Work of remaining members continues. Only the owner and admins may change a team.
#[utoipa::path(
    patch,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team")),
    request_body = TeamChange,
    responses((status = 200, description = "The team as it is now", body = Team), CallErrorResponses),
)]
pub(crate) async fn change(
    State(door): State<TeamDoor>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<Json<Team>, ApiError> {
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

/// Removes a team and its task board. The members stay. Only the owner and admins may remove a team.
#[utoipa::path(
    delete,
    path = "/v1/teams/{id}",
    tag = "teams",
    params(("id" = String, Path, description = "The team")),
    responses(
        (status = 204, description = "It is forgotten"),
        ErrorResponses,
        (status = 404, description = "No such team, or none that you may see: not_found", body = ApiErrorBody),
        (status = 409, description = "It is a member of another team: conflict", body = ApiErrorBody),
    ),
)]
pub(crate) async fn remove(
    State(door): State<TeamDoor>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    let id = team_id(&id)?;
    door.teams.remove(&principal, &id)?.await?;
    tracing::info!(team = %id, by = %principal.owner, "team forgotten");
    Ok(StatusCode::NO_CONTENT)
}
