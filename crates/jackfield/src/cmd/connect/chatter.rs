//! Messages of `connect`: `connected as ID` to standard output, all other lines to standard error. With
//! `--json` each event is one object per line on standard output.

use jackfield_connect::{Ended, News};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::output;

/// Printer of events.
#[derive(Debug)]
pub(super) struct Chatter {
    id: String,
    json: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Current address of the hub.
    hub: String,
    was_attached: bool,
    /// Last printed reason for the lost connection; the same reason is not printed again.
    cut: Option<String>,
}

impl Chatter {
    pub(super) fn new(id: &str, hub: &str, json: bool) -> Self {
        Self {
            id: id.to_owned(),
            json,
            state: Mutex::new(State {
                hub: hub.to_owned(),
                ..State::default()
            }),
        }
    }

    /// Prints an event ([`News`]). Write errors are ignored.
    pub(super) fn tell(&self, news: &News) {
        let mut state = self.state.lock();
        if let News::Moved { hub } = news {
            state.hub.clone_from(hub);
        }
        if self.json {
            output::json(&self.object(news, &state.hub)).ok();
            return;
        }
        match news {
            News::Attached if !state.was_attached => {
                state.was_attached = true;
                output::line(&format!("connected as {}", self.id)).ok();
            }
            News::Attached => output::chat("reconnected"),
            News::Cut { why, .. } => {
                if state.cut.as_ref() == Some(why) {
                    return;
                }
                state.cut = Some(why.clone());
                let why = output::clean(why);
                output::chat(&match state.was_attached {
                    true => format!("lost the connection to {}: {why}; retrying", state.hub),
                    false => {
                        format!("{why}; retrying (start a hub with: jackfield serve)")
                    }
                });
                return;
            }
            News::Moved { hub } => output::chat(&format!("the hub is now at {hub}")),
            News::Came {
                caller, session, ..
            } => output::chat(&format!(
                "{} calls, conversation {}",
                who(caller.as_deref()),
                output::clean(session)
            )),
            News::Waiting { ahead, .. } => {
                output::chat(&format!("waiting for a free slot, {ahead} ahead of it"));
            }
            News::Ended {
                caller, how, took, ..
            } => {
                let who = who(caller.as_deref());
                let took = took.as_secs_f64();
                output::chat(&match how {
                    Ended::Done => format!("done for {who} in {took:.1} s"),
                    Ended::Failed(failure) => format!(
                        "failed for {who} after {took:.1} s: {} ({})",
                        output::clean(&failure.message),
                        output::clean(&failure.code)
                    ),
                    Ended::Cancelled => format!("cancelled for {who} after {took:.1} s"),
                });
            }
        }
        if let News::Attached = news {
            state.cut = None;
        }
    }

    fn object(&self, news: &News, hub: &str) -> Value {
        match news {
            News::Attached => json!({"type": "connected", "agent": self.id, "hub": hub}),
            News::Moved { hub } => json!({"type": "moved", "hub": hub}),
            News::Cut { why, wait } => {
                json!({"type": "cut", "why": why, "wait_ms": u64::try_from(wait.as_millis()).ok()})
            }
            News::Came {
                request,
                caller,
                session,
            } => {
                json!({"type": "call", "request": request, "caller": caller, "session": session})
            }
            News::Waiting { request, ahead } => {
                json!({"type": "waiting", "request": request, "ahead": ahead})
            }
            News::Ended {
                request,
                caller,
                how,
                took,
            } => {
                let took = u64::try_from(took.as_millis()).ok();
                let mut object =
                    json!({"type": "done", "request": request, "caller": caller, "took_ms": took});
                match how {
                    Ended::Done => {}
                    Ended::Cancelled => object["type"] = json!("cancelled"),
                    Ended::Failed(failure) => {
                        object["type"] = json!("failed");
                        object["code"] = json!(failure.code);
                        object["message"] = json!(failure.message);
                    }
                }
                object
            }
        }
    }
}

fn who(caller: Option<&str>) -> String {
    output::clean(caller.unwrap_or("an unknown caller"))
}
