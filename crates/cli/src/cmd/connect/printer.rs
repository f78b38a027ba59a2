//! Messages of `connect`: `connected as ID` to standard output, all other lines to standard error. With
//! `--json` each event is one object per line on standard output.

use jackfield_connect::{ConnectEvent, MessageOutcome};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::output;

/// Printer of events.
#[derive(Debug)]
pub(super) struct EventPrinter {
    id: String,
    json: bool,
    state: Mutex<PrinterState>,
}

#[derive(Debug, Default)]
struct PrinterState {
    /// Current address of the hub.
    hub: String,
    was_attached: bool,
    /// Last printed reason for the lost connection; the same reason is not printed again.
    cut: Option<String>,
}

impl EventPrinter {
    pub(super) fn new(id: &str, hub: &str, json: bool) -> Self {
        Self {
            id: id.to_owned(),
            json,
            state: Mutex::new(PrinterState {
                hub: hub.to_owned(),
                ..PrinterState::default()
            }),
        }
    }

    /// Prints an event ([`ConnectEvent`]). Write errors are ignored.
    pub(super) fn print(&self, news: &ConnectEvent) {
        let mut state = self.state.lock();
        if let ConnectEvent::Moved { hub } = news {
            state.hub.clone_from(hub);
        }
        if self.json {
            output::json(&self.object(news, &state.hub)).ok();
            return;
        }
        match news {
            ConnectEvent::Attached if !state.was_attached => {
                state.was_attached = true;
                output::line(&format!("connected as {}", self.id)).ok();
            }
            ConnectEvent::Attached => output::print_message("reconnected"),
            ConnectEvent::Cut { why, .. } => {
                if state.cut.as_ref() == Some(why) {
                    return;
                }
                state.cut = Some(why.clone());
                let why = output::clean(why);
                output::print_message(&match state.was_attached {
                    true => format!("lost the connection to {}: {why}; retrying", state.hub),
                    false => {
                        format!("{why}; retrying (start a hub with: jackfield serve)")
                    }
                });
                return;
            }
            ConnectEvent::Moved { hub } => {
                output::print_message(&format!("the hub is now at {hub}"))
            }
            ConnectEvent::Came {
                caller, session, ..
            } => output::print_message(&format!(
                "{} calls, conversation {}",
                who(caller.as_deref()),
                output::clean(session)
            )),
            ConnectEvent::Waiting { ahead, .. } => {
                output::print_message(&format!("waiting for a free slot, {ahead} ahead of it"));
            }
            ConnectEvent::Ended {
                caller, how, took, ..
            } => {
                let who = who(caller.as_deref());
                let took = took.as_secs_f64();
                output::print_message(&match how {
                    MessageOutcome::Done => format!("done for {who} in {took:.1} s"),
                    MessageOutcome::Failed(failure) => format!(
                        "failed for {who} after {took:.1} s: {} ({})",
                        output::clean(&failure.message),
                        output::clean(&failure.code)
                    ),
                    MessageOutcome::Cancelled => format!("cancelled for {who} after {took:.1} s"),
                });
            }
        }
        if let ConnectEvent::Attached = news {
            state.cut = None;
        }
    }

    fn object(&self, news: &ConnectEvent, hub: &str) -> Value {
        match news {
            ConnectEvent::Attached => json!({"type": "connected", "agent": self.id, "hub": hub}),
            ConnectEvent::Moved { hub } => json!({"type": "moved", "hub": hub}),
            ConnectEvent::Cut { why, wait } => {
                json!({"type": "cut", "why": why, "wait_ms": u64::try_from(wait.as_millis()).ok()})
            }
            ConnectEvent::Came {
                request,
                caller,
                session,
            } => {
                json!({"type": "call", "request": request, "caller": caller, "session": session})
            }
            ConnectEvent::Waiting { request, ahead } => {
                json!({"type": "waiting", "request": request, "ahead": ahead})
            }
            ConnectEvent::Ended {
                request,
                caller,
                how,
                took,
            } => {
                let took = u64::try_from(took.as_millis()).ok();
                let mut object =
                    json!({"type": "done", "request": request, "caller": caller, "took_ms": took});
                match how {
                    MessageOutcome::Done => {}
                    MessageOutcome::Cancelled => object["type"] = json!("cancelled"),
                    MessageOutcome::Failed(failure) => {
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
