//! A call's seats: the stages on which what its agent does is shown, and the runs that it belongs to, which the calls
//! that its agent makes inherit.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    event::{Caller, Invocation, MemberEvent},
    stage::{Asked, Spot, Stage, ViewerId},
    story::{Story, Telling},
};
use jackfield_model::{AgentId, Answer, Ask, AskKind, End, Event};

use crate::{call::Call, pipe::Pushed, principal::Who};

/// A run that a call belongs to, and the place in its tree from which the call's agent sees it.
#[derive(Debug, Clone)]
pub(crate) struct Belonging {
    pub(crate) stage: Arc<Stage>,
    /// The names on the way to the team in which the last member sat.
    pub(crate) from: Arc<[Arc<str>]>,
    pub(crate) caller: Caller,
}

/// One place on one stage.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) stage: Arc<Stage>,
    pub(crate) spot: Spot,
    /// Who called, if it is another member of the same run.
    pub(crate) sender: Option<AgentId>,
}

/// A call's seats, and its story so far.
#[derive(Debug)]
pub(crate) struct Seats {
    seats: Box<[Seat]>,
    /// The viewer that made the call, if a viewer did.
    viewer: Option<ViewerId>,
    tale: Mutex<Tale>,
}

#[derive(Debug)]
struct Tale {
    story: Story,
    /// The open questions: their ids, and what they are shown as.
    asked: Vec<(String, AskKind, Invocation)>,
}

impl Seats {
    pub(crate) fn new(
        seats: Vec<Seat>,
        viewer: Option<ViewerId>,
        story: Story,
    ) -> Option<Box<Self>> {
        (!seats.is_empty()).then(|| {
            Box::new(Self {
                seats: seats.into(),
                viewer,
                tale: Mutex::new(Tale {
                    story,
                    asked: Vec::new(),
                }),
            })
        })
    }

    /// The member's name on a stage, if it has a seat there.
    pub(crate) fn name_on(&self, stage: &Arc<Stage>) -> Option<String> {
        let mut seats = self.seats.iter();
        let seat = seats.find(|seat| Arc::ptr_eq(&seat.stage, stage))?;
        Some(seat.spot.name.to_string())
    }

    /// The call begins, or goes on after a restart of the hub with what it had asked by then.
    pub(crate) fn opened(&self, call: &Arc<Call>) {
        self.begin(call);
        for ask in call.all_open_asks() {
            self.asked(call, &ask);
        }
    }

    fn begin(&self, call: &Arc<Call>) {
        let mut tale = self.tale.lock();
        if call.has_reply() {
            tale.story.goes_on();
        }
        for seat in &self.seats {
            seat.stage.enter(call, &seat.spot);
        }
        // A message is an event of the member that gets it: of another member on stages where both sit, and of people. Agents
        // that are no members are not shown.
        for seat in &self.seats {
            let (story, name, message) = (&tale.story, &seat.spot.name, &call.message);
            let heard = match (&seat.sender, &call.principal.who) {
                (Some(sender), _) => story.heard(sender, name, message),
                (None, Who::Agent(_)) => continue,
                (None, Who::Person | Who::Platform | Who::Peer(_)) => {
                    story.told(call.principal.label(), self.viewer, name, message)
                }
            };
            seat.stage.show(&seat.spot, &seat.spot.does(heard));
        }
        tale.story.opened(&mut |telling| self.show(telling));
    }

    /// Puts an event into the call's reply by `push`, and shows it if it is in; in this order for all of them.
    pub(crate) fn push(
        &self,
        call: &Call,
        event: Event,
        push: impl FnOnce(Event) -> Option<Pushed>,
    ) -> Option<Pushed> {
        let mut tale = self.tale.lock();
        let shown = event.clone();
        let pushed = push(event);
        if matches!(pushed, Some(Pushed::Room | Pushed::Full)) {
            let files = call.files();
            tale.story
                .event(&shown, files, &mut |telling| self.show(telling));
        }
        pushed
    }

    /// The agent asks.
    pub(crate) fn asked(&self, call: &Arc<Call>, ask: &Ask) {
        let mut tale = self.tale.lock();
        let of = tale.story.asked(ask, &mut |telling| {
            // Before it is shown, so that an answer that comes at once finds it.
            self.await_answer(call, &telling, ask);
            self.show(telling);
        });
        tale.asked.push((ask.id.clone(), ask.kind, of));
    }

    fn await_answer(&self, call: &Arc<Call>, telling: &Telling, ask: &Ask) {
        let Telling::Event(MemberEvent::ApprovalRequested {
            of,
            arguments,
            text,
        }) = telling
        else {
            return;
        };
        for seat in &self.seats {
            let asked = Asked {
                of: of.clone(),
                arguments: arguments.clone(),
                text: text.clone(),
            };
            seat.stage.ask(&seat.spot, call, asked, ask);
        }
    }

    /// A question was answered.
    pub(crate) fn answered(&self, call: &Call, ask_id: &str, answer: &Answer) {
        let mut tale = self.tale.lock();
        let Some(at) = tale.asked.iter().position(|(id, ..)| id == ask_id) else {
            return;
        };
        let (_, kind, of) = tale.asked.swap_remove(at);
        for seat in &self.seats {
            seat.stage.answered(call.id, &of);
        }
        tale.story
            .answered(&of, kind, answer, &mut |telling| self.show(telling));
    }

    /// The call has ended, and nothing comes any more.
    pub(crate) fn ended(&self, call: &Call, end: &End) {
        let mut tale = self.tale.lock();
        tale.story
            .ended(end, call.files(), &mut |telling| self.show(telling));
        for seat in &self.seats {
            seat.stage.leave(call.id, &seat.spot);
        }
    }

    fn show(&self, telling: Telling) {
        match telling {
            Telling::Status { new, tool, error } => {
                for seat in &self.seats {
                    let (tool, error) = (tool.as_ref(), error.as_ref());
                    seat.stage.show_status(&seat.spot, new, tool, error);
                }
            }
            Telling::Event(event) => {
                let [first, rest @ ..] = &*self.seats else {
                    return;
                };
                let body = first.spot.does(event);
                first.stage.show(&first.spot, &body);
                for seat in rest {
                    seat.stage.show(&seat.spot, &seat.spot.named_in(&body));
                }
            }
        }
    }
}
