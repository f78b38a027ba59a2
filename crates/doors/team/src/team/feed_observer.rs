//! Feeds that show a call, and runs that a call belongs to. Calls made by the agent inherit the runs.

use std::sync::Arc;

use jackfield_core::{call::Call, observer::CallObserver, principal::Who};
use jackfield_kit::files::Files;
use jackfield_model::{AgentId, Answer, Ask, AskKind, End, Event};

use super::{
    event::{CallerKey, MemberEvent, ToolInvocation},
    feed::{CallPosition, EventFeed, QuestionContent, ViewerId},
    renderer::{MemberRenderer, RenderedStep},
};

/// Run that a [`Call`] belongs to, with the position of the call's agent in the run's tree.
#[derive(Debug, Clone)]
pub(crate) struct RunMembership {
    pub(crate) feed: Arc<EventFeed>,
    /// Names along the path to the team of the last member.
    pub(crate) from: Arc<[Arc<str>]>,
    /// Name of the member in the team. `None` if the agent working on the call is not a member.
    pub(crate) member: Option<Arc<str>>,
    pub(crate) caller: CallerKey,
}

/// [`EventFeed`] that shows a [`Call`], with the call's position in the feed.
#[derive(Debug)]
pub(crate) struct FeedSlot {
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) position: CallPosition,
    /// Calling agent, if the caller is a member of the same run.
    pub(crate) sender: Option<AgentId>,
}

/// [`CallObserver`] of a call: renders the call's events and appends them to all feeds that show the call.
#[derive(Debug)]
pub(crate) struct FeedObserver {
    places: FeedSlots,
    /// Viewer that made the call, if any.
    viewer: Option<ViewerId>,
    renderer: MemberRenderer,
    /// Files under links; on the account of the caller's owner once the call is opened.
    files: Arc<Files>,
    /// Unanswered questions: id, kind, and the tool call that represents the question.
    asked: Vec<(String, AskKind, ToolInvocation)>,
}

#[derive(Debug)]
struct FeedSlots(Box<[FeedSlot]>);

impl FeedObserver {
    pub(crate) fn new(
        memberships: Vec<FeedSlot>,
        viewer: Option<ViewerId>,
        renderer: MemberRenderer,
        files: Arc<Files>,
    ) -> Option<Self> {
        (!memberships.is_empty()).then(|| Self {
            places: FeedSlots(memberships.into()),
            viewer,
            renderer,
            files,
            asked: Vec::new(),
        })
    }
}

impl CallObserver for FeedObserver {
    fn opened(&mut self, call: &Arc<Call>) {
        self.files = self.files.of_call(call);
        if call.has_reply() {
            self.renderer.mark_resumed();
        }
        for membership in &self.places.0 {
            membership.feed.call_opened(call, &membership.position);
        }
        // A message is an event of its recipient. Messages of fellow members appear in feeds that show both
        // members. Messages of people appear everywhere. Messages of agents outside the team are not shown.
        for membership in &self.places.0 {
            let (renderer, name, message) =
                (&self.renderer, &membership.position.name, &call.message);
            let heard = match (&membership.sender, &call.principal.who) {
                (Some(sender), _) => renderer.member_message(sender, name, message),
                (None, Who::Agent(_)) => continue,
                (None, Who::Person | Who::Platform | Who::Peer(_)) => {
                    renderer.outside_message(call.principal.label(), self.viewer, name, message)
                }
            };
            membership
                .feed
                .append_member_event(&membership.position, &membership.position.body_of(heard));
        }
        let places = &self.places;
        self.renderer.opened(&mut |telling| places.show(telling));
    }

    fn event(&mut self, _: &Call, event: &Event) {
        let places = &self.places;
        self.renderer
            .event(event, &self.files, &mut |telling| places.show(telling));
    }

    fn asked(&mut self, call: &Arc<Call>, ask: &Ask) {
        let places = &self.places;
        let of = self.renderer.asked(ask, &mut |telling| {
            // Register the question before showing it: an immediate answer must find the question.
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
        for membership in &self.places.0 {
            membership.feed.answered(call.id, &of);
        }
        let places = &self.places;
        self.renderer
            .answered(&of, kind, answer, &mut |telling| places.show(telling));
    }

    fn ended(&mut self, call: &Call, end: &End) {
        let places = &self.places;
        self.renderer
            .ended(end, &self.files, &mut |telling| places.show(telling));
        for membership in &self.places.0 {
            membership.feed.call_ended(call.id, &membership.position);
        }
    }
}

impl FeedSlots {
    fn await_answer(&self, call: &Arc<Call>, telling: &RenderedStep, ask: &Ask) {
        let RenderedStep::Event(MemberEvent::ApprovalRequested {
            of,
            arguments,
            text,
        }) = telling
        else {
            return;
        };
        for membership in &self.0 {
            let asked = QuestionContent {
                of: of.clone(),
                arguments: arguments.clone(),
                text: text.clone(),
            };
            membership.feed.ask(&membership.position, call, asked, ask);
        }
    }

    fn show(&self, telling: RenderedStep) {
        match telling {
            RenderedStep::Status { new, tool, error } => {
                for membership in &self.0 {
                    let (tool, error) = (tool.as_ref(), error.as_ref());
                    membership
                        .feed
                        .update_status(&membership.position, new, tool, error);
                }
            }
            RenderedStep::Event(event) => {
                let [first, rest @ ..] = &*self.0 else {
                    return;
                };
                let body = first.position.body_of(event);
                first.feed.append_member_event(&first.position, &body);
                for membership in rest {
                    membership.feed.append_member_event(
                        &membership.position,
                        &membership.position.with_local_name(&body),
                    );
                }
            }
        }
    }
}
