//! What the web client shows of a team, and how a frame changes it: the gate of sequences, the scope, the member, the
//! handler. Pure; the socket is beside it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::{
    member::Member,
    reading::{Dropped, Frame},
};

/// A tool that waits for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The member that asks, as the client shows it.
    pub member: String,
    /// What is asked.
    pub invocation_id: String,
    /// With what the hub knows the question again.
    pub token: Value,
}

/// The screen of one client.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    team_status: String,
    members: BTreeMap<String, Member>,
    /// Agents whose names are not those of members.
    ids: HashMap<String, String>,
    plan: Vec<Value>,
    /// The last sequence of each run.
    last: HashMap<String, u64>,
    passed: Vec<(String, u64)>,
    /// How often the team itself was told to have become idle.
    rests: usize,
    dropped: Vec<(Dropped, String)>,
}

impl Screen {
    /// A screen with these members, which the client knows from elsewhere; a nested one by its route key.
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

    /// Takes a frame.
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
            // Whatever was there before is gone.
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
                // It does not know what queued is.
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

    /// Whom a frame is about: by its route key; a nested member that is new takes after one of the name of its team,
    /// or of its own; then by name, then by the agent's id.
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

    /// What the team is doing.
    pub fn team_status(&self) -> &str {
        &self.team_status
    }

    /// How often the team itself came to rest. A snapshot does not count.
    pub fn rests(&self) -> usize {
        self.rests
    }

    /// What a member is doing; nothing of one that is not shown.
    pub fn status(&self, member: &str) -> &str {
        self.members.get(member).map_or("", |it| &it.status)
    }

    /// All that a member said.
    pub fn text(&self, member: &str) -> String {
        let member = self.members.get(member);
        member.map(Member::text).unwrap_or_default()
    }

    /// The tools that wait for the user.
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

    /// The runs and sequences that passed the gate, in their order.
    pub fn passed(&self) -> &[(String, u64)] {
        &self.passed
    }

    /// The last run that was seen.
    pub fn run(&self) -> Option<&str> {
        self.passed.last().map(|(run, _)| &**run)
    }

    /// How often a frame was dropped for this reason.
    pub fn dropped(&self, why: Dropped) -> usize {
        self.dropped.iter().filter(|(it, _)| *it == why).count()
    }

    /// What was dropped, except for what had been seen.
    pub fn lost(&self) -> Vec<&(Dropped, String)> {
        let dropped = self.dropped.iter();
        dropped.filter(|(why, _)| *why != Dropped::Seen).collect()
    }

    /// All of it, to be compared: without the ids that differ from run to run.
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
