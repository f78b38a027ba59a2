//! Teams and their boards as the store keeps them: records of this door, one for the team and one for each task.

use jackfield_core::store::{DoorRecord, Receipt, Store, StoreError};
use jackfield_model::{AgentId, Json, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{TeamRecord, TeamSpec, board::BoardTask};
use crate::DOOR;

/// The key of a team's own record.
const TEAM: &str = "team";
/// What the keys of a board's tasks begin with.
const TASK: &str = "task/";

/// A team without its tasks.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    owner: Owner,
    by_admin: bool,
    spec: TeamSpec,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// All teams, by id, each with its board in the order in which the tasks were first written. What cannot be read any more is
/// a failure: nothing is forgotten silently.
pub(crate) async fn load(store: &dyn Store) -> Result<Vec<TeamRecord>, StoreError> {
    let mut teams: Vec<TeamRecord> = Vec::new();
    for record in store.load_records(DOOR).await? {
        if record.key == TEAM {
            let kept: Kept = read(&record)?;
            teams.push(TeamRecord {
                id: record.agent,
                owner: kept.owner,
                by_admin: kept.by_admin,
                spec: kept.spec,
                created_at: kept.created_at,
                updated_at: kept.updated_at,
                tasks: Vec::new(),
            });
        } else if let Some(team) = teams.last_mut()
            && team.id == record.agent
        {
            // A team is written before its tasks, so that it comes before them.
            team.tasks.push(read(&record)?);
        }
    }
    Ok(teams)
}

/// Writes a team, new or changed, but not its board, which stays as it is.
pub(crate) fn save(store: &dyn Store, team: TeamRecord) -> Receipt {
    let kept = Kept {
        owner: team.owner,
        by_admin: team.by_admin,
        spec: team.spec,
        created_at: team.created_at,
        updated_at: team.updated_at,
    };
    write(store, vec![written(&team.id, TEAM.to_owned(), &kept)])
}

/// Writes tasks of a team's board, new or changed, and leaves its others alone.
pub(crate) fn save_tasks(store: &dyn Store, team: &AgentId, tasks: &[BoardTask]) -> Receipt {
    let records = tasks.iter();
    let records = records.map(|task| written(team, format!("{TASK}{}", task.id), task));
    write(store, records.collect())
}

fn write(store: &dyn Store, records: Vec<Result<DoorRecord, serde_json::Error>>) -> Receipt {
    match records.into_iter().collect() {
        Ok(records) => store.save_records(records),
        Err(error) => Receipt::ready(Err(StoreError::Refused(error.to_string()))),
    }
}

fn written(
    team: &AgentId,
    key: String,
    value: &impl Serialize,
) -> Result<DoorRecord, serde_json::Error> {
    Ok(DoorRecord {
        door: DOOR.to_owned(),
        agent: team.clone(),
        key,
        value: Json::of(value)?,
    })
}

fn read<T: DeserializeOwned>(record: &DoorRecord) -> Result<T, StoreError> {
    serde_json::from_str(record.value.get()).map_err(|error| {
        let why = format!("record {} of team {}: {error}", record.key, record.agent);
        StoreError::Refused(why)
    })
}

#[cfg(test)]
mod tests;
