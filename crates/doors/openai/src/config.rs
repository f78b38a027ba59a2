//! Configuration of the OpenAI door, the section `[openai]`, and how the hub opens the door.

use std::sync::Arc;

use jackfield_kit::{
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor},
    guard::{BodyRules, BrowserHeaders},
};
use serde::{Deserialize, Serialize};

use crate::{
    door::{OpenAiDoor, PATHS, router},
    limits::PARKED,
    parked::ParkedCalls,
    schemas::schemas,
    session::{Conversations, OPEN_WEBUI_CHAT, SESSION},
};

/// Section `[openai]` of the configuration file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whether the hub itself answers prompts with which Open WebUI asks for titles, tags, follow-up questions
    /// and search queries. If not, agents get them like any message.
    pub answer_helper_prompts: bool,
}

/// Headers that clients in web pages send. OpenAI's own client describes itself in most of them.
const ACCEPTED: [&str; 15] = [
    "openai-organization",
    "openai-project",
    "x-stainless-arch",
    "x-stainless-custom-poll-interval",
    "x-stainless-helper-method",
    "x-stainless-lang",
    "x-stainless-os",
    "x-stainless-package-version",
    "x-stainless-poll-helper",
    "x-stainless-retry-count",
    "x-stainless-runtime",
    "x-stainless-runtime-version",
    "x-stainless-timeout",
    OPEN_WEBUI_CHAT,
    SESSION,
];

impl Default for Config {
    fn default() -> Self {
        Self {
            answer_helper_prompts: true,
        }
    }
}

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let parked = Arc::new(ParkedCalls::new(PARKED));
        context.hub.observe(parked.clone());
        let stop = context.tasks.stop_token().clone();
        let (waiting, stopping) = (parked.clone(), stop.clone());
        // Nobody can answer any more, and a stopping hub waits for the readers of its calls.
        context.tasks.spawn(async move {
            stopping.cancelled().await;
            waiting.close();
        });
        let door = OpenAiDoor {
            hub: context.hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            files: context.files.clone(),
            stop,
            parked,
            conversations: Arc::new(Conversations::default()),
            answers_helpers: self.answer_helper_prompts,
        };
        Ok(OpenedDoor {
            routes: router(door),
            schemas: schemas(),
            bodies: BodyRules {
                own_paths: PATHS.to_vec(),
                ..BodyRules::default()
            },
            browser_headers: BrowserHeaders {
                accepted: ACCEPTED.to_vec(),
                exposed: vec!["x-should-retry"],
            },
            ..OpenedDoor::new(())
        })
    }
}
