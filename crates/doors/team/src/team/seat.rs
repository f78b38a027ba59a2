//! A call's seats: the stages on which what its agent does is shown, and the runs that it belongs to, which the calls
//! that its agent makes inherit.

use std::sync::Arc;

use jackfield_core::{call::Call, observer::CallObserver, principal::Who};
use jackfield_model::{AgentId, Answer, Ask, AskKind, End, Event};

use super::{
    event::{Caller, Invocation, MemberEvent},
    stage::{Asked, Spot, Stage, ViewerId},
    story::{Story, Telling},
};

/// A run that a call belongs to, and the place in its tree from which the call's agent sees it.
#[derive(Debug, Clone)]
pub(crate) struct Belonging {
    pub(crate) stage: Arc<Stage>,
    /// The names on the way to the team in which the last member sat.
    pub(crate) from: Arc<[Arc<str>]>,
    /// The name there of the member that works on the call; nothing if its agent is none.
    pub(crate) member: Option<Arc<str>>,
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
    places: Places,
    /// The viewer that made the call, if a viewer did.
    viewer: Option<ViewerId>,
    story: Story,
    /// The open questions: their ids, and what they are shown as.
    asked: Vec<(String, AskKind, Invocation)>,
}

#[derive(Debug)]
struct Places(Box<[Seat]>);

impl Seats {
    pub(crate) fn new(seats: Vec<Seat>, viewer: Option<ViewerId>, story: Story) -> Option<Self> {
        (!seats.is_empty()).then(|| Self {
            places: Places(seats.into()),
            viewer,
            story,
            asked: Vec::new(),
        })
    }
}

impl CallObserver for Seats {
    fn opened(&mut self, call: &Arc<Call>) {
        if call.has_reply() {
            self.story.goes_on();
        }
        for seat in &self.places.0 {
            seat.stage.enter(call, &seat.spot);
        }
        // A message is an event of the member that gets it: of another member on stages where both sit, and of people. Agents
        // that are no members are not shown.
        for seat in &self.places.0 {
            let (story, name, message) = (&self.story, &seat.spot.name, &call.message);
            let heard = match (&seat.sender, &call.principal.who) {
                (Some(sender), _) => story.heard(sender, name, message),
                (None, Who::Agent(_)) => continue,
                (None, Who::Person | Who::Platform | Who::Peer(_)) => {
                    story.told(call.principal.label(), self.viewer, name, message)
                }
            };
            seat.stage.show(&seat.spot, &seat.spot.does(heard));
        }
        let places = &self.places;
        self.story.opened(&mut |telling| places.show(telling));
    }

    fn event(&mut self, call: &Call, event: &Event) {
        let (places, files) = (&self.places, call.files());
        self.story
            .event(event, files, &mut |telling| places.show(telling));
    }

    fn asked(&mut self, call: &Arc<Call>, ask: &Ask) {
        let places = &self.places;
        let of = self.story.asked(ask, &mut |telling| {
            // Before it is shown, so that an answer that comes at once finds it.
            places.await_answer(call, &telling, ask);
            places.show(telling);
        });
        self.asked.push((ask.id.clone(), ask.kind, of));
    }

    fn answered(&mut self, call: &Call, ask_id: &str, answer: &Answer) {
        let Some(at) = self.asked.iter().position(|(id, ..)| id == ask_id) else {
            return;
        };
        let (_, kind, of) = self.asked.swap_remove(at);
        for seat in &self.places.0 {
            seat.stage.answered(call.id, &of);
        }
        let places = &self.places;
        self.story
            .answered(&of, kind, answer, &mut |telling| places.show(telling));
    }

    fn ended(&mut self, call: &Call, end: &End) {
        let places = &self.places;
        self.story
            .ended(end, call.files(), &mut |telling| places.show(telling));
        for seat in &self.places.0 {
            seat.stage.leave(call.id, &seat.spot);
        }
    }
}

impl Places {
    fn await_answer(&self, call: &Arc<Call>, telling: &Telling, ask: &Ask) {
        let Telling::Event(MemberEvent::ApprovalRequested {
            of,
            arguments,
            text,
        }) = telling
        else {
            return;
        };
        for seat in &self.0 {
            let asked = Asked {
                of: of.clone(),
                arguments: arguments.clone(),
                text: text.clone(),
            };
            seat.stage.ask(&seat.spot, call, asked, ask);
        }
    }

    fn show(&self, telling: Telling) {
        match telling {
            Telling::Status { new, tool, error } => {
                for seat in &self.0 {
                    let (tool, error) = (tool.as_ref(), error.as_ref());
                    seat.stage.show_status(&seat.spot, new, tool, error);
                }
            }
            Telling::Event(event) => {
                let [first, rest @ ..] = &*self.0 else {
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
