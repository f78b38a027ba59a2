//! `GET /v1/models`: each agent and team that the caller may call is a model.

use axum::{Json, extract::State};
use jackfield_core::{
    entry::AgentView,
    hub::{Hub, Wanted},
    principal::Principal,
};

use crate::{
    door::OpenAiDoor,
    failure::OpenAiError,
    serve::{Caller, IdInPath, agent_of},
    translate::model_name,
    wire::{ListObject, ModelObject},
};

/// Lists the models.
pub(crate) async fn list(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
) -> Json<ListObject<ModelObject>> {
    let views = door.hub.agents().discover(&principal, &Wanted::default());
    let callable = views
        .into_iter()
        .filter(|view| may_call(&door.hub, &principal, view));
    Json(ListObject::whole(callable.map(model).collect()))
}

/// Shows a model, by either form of its id.
pub(crate) async fn show(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    IdInPath(id): IdInPath,
) -> Result<Json<ModelObject>, OpenAiError> {
    let agent = agent_of(&door, &principal, &id)?;
    let entry = door.hub.agents().find(&principal, agent.as_str())?;
    Ok(Json(model(entry.view())))
}

/// Seeing an agent and calling it are two rights.
fn may_call(hub: &Hub, principal: &Principal, view: &AgentView) -> bool {
    hub.agents().find(principal, view.id.as_str()).is_ok()
}

fn model(view: AgentView) -> ModelObject {
    let name = Some(view.profile.name).filter(|name| !name.is_empty());
    ModelObject {
        object: "model",
        created: view.registered_at.as_second(),
        owned_by: view.owner.to_string(),
        name: name.unwrap_or_else(|| view.id.to_string()),
        description: view.profile.description,
        id: model_name(&view.id),
    }
}
