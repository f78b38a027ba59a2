//! The screen of the web client for a team, and its changes by frames: sequence check, scope, member,
//! handler. Pure logic without a socket.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::{
    member::Member,
    reading::{Dropped, Frame},
};

/// A tool that awaits the user's approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The member that asks, by its name on the screen.
    pub member: String,
    /// The id of the tool call.
    pub invocation_id: String,
    /// The approval token, which the decision repeats.
    pub token: Value,
}

/// The screen of a client.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    team_status: String,
    members: BTreeMap<String, Member>,
    /// Member keys by agent id, for agents whose names are not member names.
    ids: HashMap<String, String>,
    plan: Vec<Value>,
    /// The last sequence number of each run.
    last: HashMap<String, u64>,
    passed: Vec<(String, u64)>,
    /// Number of times that the team itself became idle.
    rests: usize,
    dropped: Vec<(Dropped, String)>,
}

impl Screen {
    /// Creates a screen with these members. A nested member is given by its route key.
    pub fn new(members: &[&str]) -> Self {
        let members = members
            .iter()
            .map(|name| ((*name).to_owned(), Member::new()));
        Self {
            team_status: "uninitialized".to_owned(),
            members: members.collect(),
            ..Self::default()
        }
    }

    /// Applies a frame, or records why the frame was dropped.
    pub fn take(&mut self, text: &str) {
        if let Err(dropped) = self.show(text) {
            self.dropped.push((dropped, text.to_owned()));
        }
    }

    fn show(&mut self, text: &str) -> Result<(), Dropped> {
        let frame = Frame::read(text)?;
        if let Some((run, sequence)) = frame.number() {
            let last = self.last.entry(run.clone()).or_default();
            if sequence <= *last {
                return Err(Dropped::Seen);
            }
            *last = sequence;
            self.passed.push((run, sequence));
        }
        if frame.is_of_team() {
            self.show_team(&frame)
        } else {
            let member = self.member(&frame)?;
            member.apply(&frame)
        }
    }

    fn show_team(&mut self, frame: &Frame) -> Result<(), Dropped> {
        match &*frame.kind {
            "TEAM_STATUS" => {
                self.team_status = frame.word("new_status").to_lowercase();
                let is_own = frame.number().is_some() && frame.text("sub_team_node_name").is_none();
                self.rests += usize::from(is_own && self.team_status == "idle");
            }
            "TASK_PLAN_EVENT" => return self.show_plan(frame),
            _ => {}
        }
        Ok(())
    }

    fn show_plan(&mut self, frame: &Frame) -> Result<(), Dropped> {
        match frame.text("event_type") {
            // Replaces the previous plan.
            Some("TASKS_CREATED") => {
                let tasks = frame.payload.get("tasks").and_then(Value::as_array);
                let tasks = tasks.into_iter().flatten();
                self.plan = tasks.map(planned).collect();
            }
            Some("TASK_STATUS_UPDATED") => {
                let id = frame.word("task_id");
                let mut plan = self.plan.iter_mut();
                let task = plan.find(|task| task["task_id"] == *id);
                let task = task.ok_or(Dropped::UnknownSegment)?;
                // The client does not know the status queued.
                task["status"] = match frame.text("new_status") {
                    Some("queued") | None => "not_started".into(),
                    Some(status) => status.into(),
                };
                if let Some(Value::Array(files)) = frame.payload.get("deliverables") {
                    let paths = files.iter().map(|file| file["file_path"].clone());
                    task["files"] = paths.collect();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the member of a frame. The search order is: route key; for a new nested member, a member with
    /// the name of its team or its own name; agent name; agent id.
    fn member(&mut self, frame: &Frame) -> Result<&mut Member, Dropped> {
        let key = self.key_of(frame).ok_or(Dropped::UnknownMember)?;
        if let Some(id) = frame.text("agent_id") {
            self.ids.entry(id.to_owned()).or_insert_with(|| key.clone());
        }
        Ok(self.members.entry(key).or_insert_with(Member::new))
    }

    fn key_of(&self, frame: &Frame) -> Option<String> {
        let knows = |name: &str| self.members.contains_key(name);
        let name = frame.text("agent_name").filter(|name| !name.is_empty());
        if let Some(key) = frame.text("member_route_key") {
            if knows(key) {
                return Some(key.to_owned());
            }
            if let Some((parent, leaf)) = key.rsplit_once('/') {
                let is_like = knows(parent) || knows(leaf) || name.is_some_and(knows);
                return is_like.then(|| key.to_owned());
            }
        }
        if let Some(name) = name.filter(|name| knows(name)) {
            return Some(name.to_owned());
        }
        let id = frame.text("agent_id")?;
        self.ids.get(id).cloned()
    }

    /// Returns the status of the team.
    pub fn team_status(&self) -> &str {
        &self.team_status
    }

    /// Returns the number of times that the team itself became idle. A snapshot does not count.
    pub fn rests(&self) -> usize {
        self.rests
    }

    /// Returns the status of a member; empty for an unknown member.
    pub fn status(&self, member: &str) -> &str {
        self.members.get(member).map_or("", |it| &it.status)
    }

    /// Returns all text of a member.
    pub fn text(&self, member: &str) -> String {
        let member = self.members.get(member);
        member.map(Member::text).unwrap_or_default()
    }

    /// Returns the tools that await the user's approval.
    pub fn approvals(&self) -> Vec<Approval> {
        let members = self.members.iter();
        let waiting = members.flat_map(|(name, member)| {
            member.waiting().map(|tool| Approval {
                member: name.clone(),
                invocation_id: tool.id.clone(),
                token: tool.token.clone(),
            })
        });
        waiting.collect()
    }

    /// Returns the runs and sequence numbers of all accepted frames, in order.
    pub fn passed(&self) -> &[(String, u64)] {
        &self.passed
    }

    /// Returns the run of the last accepted frame.
    pub fn run(&self) -> Option<&str> {
        self.passed.last().map(|(run, _)| &**run)
    }

    /// Returns the number of frames dropped for this reason.
    pub fn dropped(&self, why: Dropped) -> usize {
        self.dropped.iter().filter(|(it, _)| *it == why).count()
    }

    /// Returns the dropped frames, except frames seen before.
    pub fn lost(&self) -> Vec<&(Dropped, String)> {
        let dropped = self.dropped.iter();
        dropped.filter(|(why, _)| *why != Dropped::Seen).collect()
    }

    /// Returns the whole screen for comparison, without ids that differ from run to run.
    pub fn shown(&self) -> Value {
        let members = self.members.iter();
        let members: Map<_, _> = members
            .map(|(name, member)| (name.clone(), member.shown()))
            .collect();
        let approvals = self.approvals();
        let approvals = approvals
            .iter()
            .map(|it| json!([it.member, it.invocation_id]));
        json!({
            "team": self.team_status,
            "members": members,
            "plan": self.plan,
            "approvals": approvals.collect::<Vec<_>>(),
        })
    }
}

fn planned(task: &Value) -> Value {
    json!({
        "task_id": task["task_id"],
        "task_name": task["task_name"],
        "assignee_name": task["assignee_name"],
        "dependencies": task["dependencies"],
        "status": "not_started",
    })
}
