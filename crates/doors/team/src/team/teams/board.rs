//! Access to the task boards of teams: principals that may read and change a board, and the member they act
//! as.

use std::sync::Arc;

use jackfield_core::{principal::Principal, store::Receipt};
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;

use super::{Teams, view::restricted_to_own};
use crate::team::{
    board::{BoardChange, BoardTask, NewTask, TaskChange},
    event::EventBody,
    record,
    registry::RegisteredTeam,
    tree::TreePosition,
};

impl Teams {
    /// Returns the task board of a team.
    pub fn board(&self, principal: &Principal, id: &str) -> Result<Vec<BoardTask>, Failure> {
        let (team, entry) = self.visible_team(principal, id)?;
        if restricted_to_own(principal, &entry).is_some() {
            self.member_name(principal, &team)?;
        }
        let tasks = team.board.lock().tasks();
        Ok(tasks.to_vec())
    }

    /// Adds tasks to a team's board. Members act as themselves; the owner may name the acting member in `by`.
    pub fn add_tasks(
        &self,
        principal: &Principal,
        id: &str,
        new: Vec<NewTask>,
        by: Option<&str>,
    ) -> Result<(Vec<BoardTask>, Receipt), Failure> {
        let (team, _) = self.visible_team(principal, id)?;
        self.acting_name(principal, &team, by)?;
        let names = self.assignable(&team);
        let mut board = team.board.lock();
        let change = board.add(new, &|name| names.iter().any(|it| **it == *name))?;
        let added = match &change {
            BoardChange::Created { added, .. } => added.to_vec(),
            BoardChange::Status { .. } => Vec::new(),
        };
        let saved = record::save_tasks(&*self.store, &team.id, &added);
        // Under the board's lock: viewers must see the changes in order.
        self.show_to_viewers(&team, EventBody::Board(change));
        Ok((added, saved))
    }

    /// Changes a task of a team's board. Members act as themselves; the owner may name the acting member in
    /// `by`.
    pub fn change_task(
        &self,
        principal: &Principal,
        id: &str,
        task: &str,
        change: TaskChange,
        by: Option<&str>,
    ) -> Result<(BoardTask, Receipt), Failure> {
        let (team, _) = self.visible_team(principal, id)?;
        let by = self.acting_name(principal, &team, by)?;
        let names = self.assignable(&team);
        let mut board = team.board.lock();
        let (task, changes) = board.change(task, change, &by, Timestamp::now(), &|name| {
            names.iter().any(|it| **it == *name)
        })?;
        if changes.is_empty() {
            return Ok((task, Receipt::ready(Ok(()))));
        }
        let changed = std::slice::from_ref(&task);
        let saved = record::save_tasks(&*self.store, &team.id, changed);
        for change in changes {
            self.show_to_viewers(&team, EventBody::Board(change));
        }
        Ok((task, saved))
    }

    /// Returns the valid assignees of a team's tasks: names of direct members, and route keys of all agents.
    fn assignable(&self, team: &RegisteredTeam) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        names.extend(team.spec().members.into_iter().map(|member| member.name));
        let places = self.registry.tree(&team.id).positions();
        names.extend(places.iter().map(TreePosition::route_key));
        names
    }

    /// Returns the name of the member that the principal acts as. A member acts as itself. The owner acts as
    /// `by`, or as the coordinator.
    fn acting_name(
        &self,
        principal: &Principal,
        team: &RegisteredTeam,
        by: Option<&str>,
    ) -> Result<String, Failure> {
        if Self::is_owner(principal, team) {
            let spec = team.spec();
            let Some(by) = by else {
                return Ok(spec.coordinator.to_string());
            };
            let names = self.assignable(team);
            if names.iter().any(|name| **name == *by) {
                return Ok(by.to_owned());
            }
            let text = format!(
                "field \"agent_name\": {by:?} is no member of team {}",
                team.id
            );
            return Err(Failure::new(Reason::Invalid, text));
        }
        let place = self.member_name(principal, team)?;
        let own = place.route_key();
        match by {
            Some(by) if *by != *own && *by != *place.name => {
                let text =
                    format!("field \"agent_name\": a member speaks only for itself, as {own:?}");
                Err(Failure::new(Reason::Unauthorized, text))
            }
            _ => Ok(own.to_string()),
        }
    }
}
