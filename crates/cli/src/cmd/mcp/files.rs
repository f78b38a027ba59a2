//! Files of an answer for a model: the argument `files` of the tools `call_agent` and `task`, which the hub does not know.
//! This program adds the argument to the list of tools, takes it out of a call, and writes the files of the answer below the
//! folder of `--files`. The model is told the paths.
//!
//! Names of files come from agents. Only `jackfield_transfer` creates files from them: it refuses or replaces names that lead
//! out of the folder, follows no links, and replaces no existing file.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Result;
use http::{HeaderMap, Method, header};
use jackfield_model::TaskId;
use jackfield_sdk::{Done, Event, EventStream, Hub};
use jackfield_transfer::{ConflictPolicy, Unpacked};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::message::RpcMessage;
use crate::{
    cmd::call::files::absolute,
    transfers::{
        RouteChoice, TransferProgress,
        answer_files::AnswerFiles,
        client_id,
        deliver::{FileDownload, check_folder},
        unfinished::DownloadOrder,
    },
};

/// Name of the argument.
const FILES: &str = "files";
/// Key of the client id in `_meta`, by which the hub asks the agent for its files.
const CLIENT: &str = "jackfield/files";
/// Time after the start of a request by which the result must be on its way: clients give up a request after 60 s.
const PATIENCE: Duration = Duration::from_secs(55);
/// Shortest time for a download, however late the answer came.
const LEAST: Duration = Duration::from_secs(5);
/// Maximum number of tasks of the protocol whose files are wanted and not here yet; the oldest is forgotten first. The tool
/// `task` gets its files nevertheless.
const WANTED: usize = 256;

/// Folder for the files of answers.
#[derive(Debug)]
pub(super) struct AnswerFolder {
    folder: PathBuf,
    client_id: String,
    /// Flags to repeat in a command that the user is told to type.
    flags: String,
    /// Tasks of the protocol whose files the model asked for.
    wanted: Mutex<VecDeque<String>>,
}

/// What a request asks of the folder.
#[derive(Debug, Clone)]
pub(super) enum FilesRequest {
    /// Nothing.
    No,
    /// The list of tools.
    Tools,
    /// The files of the tool's answer.
    Answer(Instant),
    /// The state of a task of the protocol.
    Poll(Instant, String),
}

/// Files that were written for a model.
#[derive(Debug, Default)]
struct SavedFiles {
    paths: Vec<String>,
    notes: Vec<String>,
}

impl AnswerFolder {
    /// Checks the folder, which may be missing.
    pub(super) fn open(folder: &Path, flags: String) -> Result<Self> {
        check_folder("--files", folder)?;
        Ok(Self {
            folder: absolute(folder)?,
            client_id: client_id::own()?,
            flags,
            wanted: Mutex::default(),
        })
    }

    /// Takes the argument out of a request, and returns what is asked. The error is for the model.
    pub(super) fn prepare(&self, message: &mut RpcMessage) -> Result<FilesRequest, String> {
        let now = Instant::now();
        match message.method() {
            Some("tools/list") => return Ok(FilesRequest::Tools),
            Some("tasks/get") => {
                let task = message.name().unwrap_or_default().to_owned();
                return Ok(FilesRequest::Poll(now, task));
            }
            Some("tools/call") if matches!(message.name(), Some("call_agent" | "task")) => {}
            _ => return Ok(FilesRequest::No),
        }
        let params = message.params_mut();
        let arguments = params["arguments"].as_object_mut();
        let wanted = arguments.and_then(|arguments| arguments.remove(FILES));
        match wanted {
            None | Some(Value::Bool(false)) => Ok(FilesRequest::No),
            Some(Value::Bool(true)) => {
                if !params["_meta"].is_object() {
                    params["_meta"] = json!({});
                }
                params["_meta"][CLIENT] = json!(self.client_id);
                Ok(FilesRequest::Answer(now))
            }
            Some(_) => Err(format!("argument \"{FILES}\": must be true or false")),
        }
    }

    /// Adds to a response what the request asked for.
    pub(super) async fn complete(
        &self,
        hub: &Hub,
        headers: &HeaderMap,
        request: &FilesRequest,
        response: &mut Value,
    ) {
        let Some(result) = response.get_mut("result") else {
            return;
        };
        match request {
            FilesRequest::No => {}
            FilesRequest::Tools => add_argument(result),
            FilesRequest::Answer(_) if result["resultType"] == "task" => {
                let task = result["taskId"].as_str().unwrap_or_default().to_owned();
                let mut wanted = self.wanted.lock();
                if wanted.len() == WANTED {
                    wanted.pop_front();
                }
                wanted.push_back(task);
            }
            FilesRequest::Answer(since) => self.add_files(hub, headers, *since, result).await,
            FilesRequest::Poll(since, task) => {
                let is_over = matches!(
                    result["status"].as_str(),
                    Some("completed" | "cancelled" | "failed")
                );
                if is_over && self.takes(task) {
                    let result = &mut result["result"];
                    self.add_files(hub, headers, *since, result).await;
                }
            }
        }
    }

    /// Returns whether the files of a task are wanted, once.
    fn takes(&self, task: &str) -> bool {
        let mut wanted = self.wanted.lock();
        let found = wanted.iter().position(|id| id == task);
        found.is_some_and(|at| wanted.remove(at).is_some())
    }

    /// Writes the files of a finished answer, and tells the model.
    async fn add_files(&self, hub: &Hub, headers: &HeaderMap, since: Instant, result: &mut Value) {
        let told = &result["structuredContent"];
        let agent = told["agent"].as_str().unwrap_or_default().to_owned();
        // The id becomes the name of a folder.
        let task = told["task"].as_str().and_then(TaskId::parse);
        let Some(task) = task.filter(|_| told["state"] == "completed") else {
            return;
        };
        let out = self.folder.join(task.to_string());
        let left = PATIENCE.saturating_sub(since.elapsed()).max(LEAST);
        let tell = TransferProgress::collecting();
        let saving = self.save(hub, headers, (task, agent), &out, &tell);
        let saved = match timeout(left, saving).await {
            Ok(Ok(saved)) => Ok(saved),
            Ok(Err(error)) => Err(format!("{error:#}")),
            Err(_) => Err(format!(
                "not all files are here yet; call task with task={task} and files=true to go on"
            )),
        };
        let mut saved_files = SavedFiles {
            notes: tell.take_notes(),
            ..SavedFiles::default()
        };
        match saved {
            Ok(Some(saved)) => {
                let paths = saved.files.iter().map(|name| out.join(name));
                saved_files.paths = paths.map(|path| path.display().to_string()).collect();
            }
            Ok(None) => saved_files
                .notes
                .push("The agent gave no files.".to_owned()),
            Err(text) => saved_files.notes.push(text),
        }
        saved_files.add_to(result);
    }

    /// Writes the files of a task: those in the answer, and those that the agent offers. `None` if there are none.
    async fn save(
        &self,
        hub: &Hub,
        headers: &HeaderMap,
        (task, agent): (TaskId, String),
        out: &Path,
        tell: &TransferProgress,
    ) -> Result<Option<Unpacked>> {
        let answer = AnswerFiles::default();
        let done = read_answer(hub, headers, task, &answer).await?;
        let saved = answer.save(hub, out, ConflictPolicy::Refuse, tell).await?;
        let Some(offer) = done.and_then(|done| done.offer()) else {
            return match answer.refusal() {
                Some(why) => Err(anyhow::anyhow!("the agent's files were not sent: {why}")),
                None => Ok((!saved.files.is_empty()).then_some(saved)),
            };
        };
        let order = DownloadOrder {
            hub: hub.address().base().to_owned(),
            agent,
            offer,
            out: out.to_owned(),
            overwrite: false,
        };
        let delivery = FileDownload {
            hub,
            order,
            via: RouteChoice::Auto,
            tell: tell.clone(),
            flags: self.flags.clone(),
            saved,
        };
        delivery.deliver().await.map(Some)
    }
}

/// Reads the answer of a task from the hub's log, with its files. Returns the end of the last turn.
async fn read_answer(
    hub: &Hub,
    headers: &HeaderMap,
    task: TaskId,
    answer: &AnswerFiles,
) -> Result<Option<Done>> {
    let path = format!("/v1/calls/{task}/events");
    let mut request = hub.builder(Method::GET, &path);
    // The caller of the tool may be an agent.
    for (name, value) in headers {
        if name != header::ACCEPT && name != header::CONTENT_TYPE {
            request = request.header(name, value);
        }
    }
    let mut events = EventStream::new(request.send().await?.error_for_status()?);
    let mut last = None;
    while let Some(event) = events.next().await? {
        let Some(event) = event.read()? else {
            continue;
        };
        answer.collect(&event);
        if let Event::Done(done) = event {
            last = Some(done);
        }
    }
    Ok(last)
}

/// Adds the argument to the tools that have it, and what it returns.
fn add_argument(result: &mut Value) {
    let tools = result["tools"].as_array_mut().into_iter().flatten();
    for tool in tools.filter(|tool| tool["name"] == "call_agent" || tool["name"] == "task") {
        tool["inputSchema"]["properties"][FILES] = json!({
            "type": "boolean",
            "default": false,
            "description": "Whether to write the files of the answer, once it is complete, to a folder on this machine. The result has their paths as saved. Give it to call_agent already, so that the agent sends the files that it made.",
        });
        tool["outputSchema"]["properties"]["saved"] = json!({
            "type": "object",
            "description": "The files on this machine.",
            "properties": {
                "files": {"type": "array", "items": {"type": "string"}, "description": "Their paths."},
                "notes": {"type": "array", "items": {"type": "string"}, "description": "What is missing, and why."},
            },
        });
    }
}

impl SavedFiles {
    /// Adds the files to the result of a tool, for programs and for models.
    fn add_to(self, result: &mut Value) {
        let mut lines = Vec::new();
        if !self.paths.is_empty() {
            lines.push("Files of the answer, on this machine:".to_owned());
            lines.extend(self.paths.iter().map(|path| format!("- {path}")));
        }
        lines.extend(self.notes.iter().cloned());
        if let Some(content) = result["content"].as_array_mut() {
            content.push(json!({"type": "text", "text": lines.join("\n")}));
        }
        result["structuredContent"]["saved"] = json!({"files": self.paths, "notes": self.notes});
    }
}

#[cfg(test)]
mod tests;
