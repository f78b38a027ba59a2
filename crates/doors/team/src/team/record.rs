//! Storage of teams and task boards: door records, with a record per team and a record per task.

use jackfield_core::store::{DoorRecord, Receipt, Store, StoreError};
use jackfield_model::{AgentId, Json, Owner};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{TeamRecord, TeamSpec, board::BoardTask};
use crate::DOOR;

/// Record key of a team.
const TEAM: &str = "team";
/// Prefix of the record keys of tasks.
const TASK: &str = "task/";

/// Stored form of a [`TeamRecord`], without id and tasks.
#[derive(Debug, Serialize, Deserialize)]
struct StoredTeam {
    owner: Owner,
    by_admin: bool,
    spec: TeamSpec,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// Loads all teams, sorted by id, each with its board in the order of the first write of each task. An
/// unreadable record is an error: no data is dropped silently.
pub(crate) async fn load(store: &dyn Store) -> Result<Vec<TeamRecord>, StoreError> {
    let mut teams: Vec<TeamRecord> = Vec::new();
    for record in store.load_records(DOOR).await? {
        // All records of this door are about a team.
        let Some(id) = record.agent.clone() else {
            continue;
        };
        if record.key == TEAM {
            let kept: StoredTeam = read(&record)?;
            teams.push(TeamRecord {
                id,
                owner: kept.owner,
                by_admin: kept.by_admin,
                spec: kept.spec,
                created_at: kept.created_at,
                updated_at: kept.updated_at,
                tasks: Vec::new(),
            });
        } else if let Some(team) = teams.last_mut()
            && team.id == id
        {
            // A team is written before its tasks, so its record precedes theirs.
            team.tasks.push(read(&record)?);
        }
    }
    Ok(teams)
}

/// Stores a new or changed [`TeamRecord`]. Leaves the records of the task board unchanged.
pub(crate) fn save(store: &dyn Store, team: TeamRecord) -> Receipt {
    let kept = StoredTeam {
        owner: team.owner,
        by_admin: team.by_admin,
        spec: team.spec,
        created_at: team.created_at,
        updated_at: team.updated_at,
    };
    write(store, vec![written(&team.id, TEAM.to_owned(), &kept)])
}

/// Stores new or changed [`BoardTask`]s of a team's board. Leaves the other tasks unchanged.
pub(crate) fn save_tasks(store: &dyn Store, team: &AgentId, tasks: &[BoardTask]) -> Receipt {
    let records = tasks.iter();
    let records = records.map(|task| written(team, format!("{TASK}{}", task.id), task));
    write(store, records.collect())
}

fn write(store: &dyn Store, records: Vec<Result<DoorRecord, serde_json::Error>>) -> Receipt {
    match records.into_iter().collect() {
        Ok(records) => store.save_records(records, true),
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
        agent: Some(team.clone()),
        key,
        value: Json::of(value)?,
    })
}

fn read<T: DeserializeOwned>(record: &DoorRecord) -> Result<T, StoreError> {
    serde_json::from_str(record.value.get()).map_err(|error| {
        let team = record.agent.as_ref().map_or("", AgentId::as_str);
        let why = format!("record {} of team {team}: {error}", record.key);
        StoreError::Refused(why)
    })
}

#[cfg(test)]
mod tests;
