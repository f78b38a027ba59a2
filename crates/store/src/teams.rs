//! Teams and the tasks of their boards: their SQL.

use jackfield_core::team::{
    TeamRecord,
    board::{BoardStatus, BoardTask},
};
use jackfield_model::{AgentId, Owner};
use rusqlite::{Connection, Row};

use crate::{
    column::{json, named, parsed, time, time_text},
    fault::Fault,
};

/// Writes a team, new or changed, without its tasks. Updated in place: replacing it would take its tasks along.
pub(crate) fn save(conn: &Connection, team: &TeamRecord) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO teams (id, owner, by_admin, spec, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET
            owner = excluded.owner, by_admin = excluded.by_admin, spec = excluded.spec,
            created_at = excluded.created_at, updated_at = excluded.updated_at",
    )?;
    statement.execute((
        team.id.as_str(),
        team.owner.as_str(),
        team.by_admin,
        serde_json::to_string(&team.spec)?,
        time_text(team.created_at),
        time_text(team.updated_at),
    ))?;
    Ok(())
}

/// Writes tasks of a team, new or changed. A new one comes after all others; nothing is written if there is no such team.
pub(crate) fn save_tasks(
    conn: &Connection,
    team: &AgentId,
    tasks: &[BoardTask],
) -> Result<(), Fault> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO team_tasks (team, pos, id, name, assignee, description, dependencies, status, deliverables)
         SELECT id, (SELECT coalesce(max(pos), 0) + 1 FROM team_tasks WHERE team = teams.id), ?, ?, ?, ?, ?, ?, ?
            FROM teams WHERE id = ?
         ON CONFLICT (team, id) DO UPDATE SET
            name = excluded.name, assignee = excluded.assignee, description = excluded.description,
            dependencies = excluded.dependencies, status = excluded.status, deliverables = excluded.deliverables",
    )?;
    for task in tasks {
        statement.execute((
            &task.id,
            &task.name,
            &task.assignee,
            &task.description,
            serde_json::to_string(&task.dependencies)?,
            task.status.name(),
            serde_json::to_string(&task.deliverables)?,
            team.as_str(),
        ))?;
    }
    Ok(())
}

/// Forgets a team; its tasks go with it.
pub(crate) fn remove(conn: &Connection, id: &AgentId) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM teams WHERE id = ?")?
        .execute([id.as_str()])?;
    Ok(())
}

/// All teams, by id, with their tasks in order.
pub(crate) fn load(conn: &Connection) -> Result<Vec<TeamRecord>, Fault> {
    let mut statement = conn.prepare("SELECT * FROM teams ORDER BY id")?;
    let teams = statement.query_map([], from_row)?;
    let mut teams = teams.collect::<Result<Vec<_>, _>>()?;
    let mut statement = conn.prepare("SELECT * FROM team_tasks WHERE team = ? ORDER BY pos")?;
    for team in &mut teams {
        let tasks = statement.query_map([team.id.as_str()], task_from_row)?;
        team.tasks = tasks.collect::<Result<_, _>>()?;
    }
    Ok(teams)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TeamRecord> {
    Ok(TeamRecord {
        id: parsed(row, "id", AgentId::parse)?,
        owner: parsed(row, "owner", Owner::parse)?,
        by_admin: row.get("by_admin")?,
        spec: json(row, "spec")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        tasks: Vec::new(),
    })
}

fn task_from_row(row: &Row<'_>) -> rusqlite::Result<BoardTask> {
    Ok(BoardTask {
        id: row.get("id")?,
        name: row.get("name")?,
        assignee: row.get("assignee")?,
        description: row.get("description")?,
        dependencies: json(row, "dependencies")?,
        status: named(row, "status", BoardStatus::from_name)?,
        deliverables: json(row, "deliverables")?,
    })
}
