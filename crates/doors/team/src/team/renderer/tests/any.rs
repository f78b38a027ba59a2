//! Whatever a call says, a viewer that is as strict as the strictest client drops nothing and ends with nothing open.

use std::collections::HashMap;

use jackfield_model::{Failure, Reason};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Event(Event),
    Ask(Ask),
    /// To the ask of this number, if there was one.
    Answer(usize, Answer),
}

/// How far a tool is, in the order that clients keep: one never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Parsing,
    Parsed,
    Awaiting,
    Approved,
    Executing,
    Over,
}

/// A client that believes nothing.
#[derive(Default)]
struct Viewer {
    /// Whether each segment is still open.
    segments: HashMap<Arc<str>, bool>,
    tools: HashMap<Arc<str>, (Arc<str>, Seen)>,
    status: Option<(AgentStatus, Option<Arc<str>>)>,
    /// What the segments of text said.
    text: String,
    texts: Vec<Arc<str>>,
    completed: Option<String>,
}

impl Viewer {
    fn see(&mut self, telling: &RenderedStep) {
        let event = match telling {
            RenderedStep::Status { new, tool, .. } => {
                let status = Some((*new, tool.clone()));
                assert_ne!(self.status, status, "a status is said once");
                let is_waiting = self.tools.values().any(|(_, seen)| *seen == Seen::Awaiting);
                assert_eq!(
                    is_waiting,
                    *new == AgentStatus::AwaitingToolApproval,
                    "{new:?}"
                );
                self.status = status;
                return;
            }
            RenderedStep::Event(event) => event,
        };
        match event {
            MemberEvent::SegmentStart { id, kind, tool } => {
                let old = self.segments.insert(id.clone(), true);
                assert_eq!(old, None, "an id is new: {id}");
                match kind {
                    SegmentKind::ToolCall => {
                        let tool = tool.clone().expect("a tool has a name");
                        assert!(!tool.trim().is_empty());
                        self.tools.insert(id.clone(), (tool, Seen::Parsing));
                    }
                    SegmentKind::Text => self.texts.push(id.clone()),
                    SegmentKind::Reasoning => {}
                }
            }
            MemberEvent::SegmentContent { id, delta, .. } => {
                assert_eq!(self.segments.get(id), Some(&true), "content while open");
                assert!(!delta.is_empty());
                if self.texts.contains(id) {
                    self.text += delta;
                }
            }
            MemberEvent::SegmentEnd { id, tool, .. } => {
                let old = self.segments.insert(id.clone(), false);
                assert_eq!(old, Some(true), "a segment ends once");
                assert_eq!(tool.is_some(), self.tools.contains_key(id));
                if let Some((name, seen)) = self.tools.get_mut(id) {
                    assert_eq!(Some(&*name), tool.as_ref());
                    *seen = Seen::Parsed;
                }
            }
            MemberEvent::ApprovalRequested { of, .. } => self.advance(of, Seen::Awaiting),
            MemberEvent::Approved { of, .. } => self.advance(of, Seen::Approved),
            MemberEvent::ToolStarted { of, .. } => self.advance(of, Seen::Executing),
            MemberEvent::ToolSucceeded { of, .. } => self.advance(of, Seen::Over),
            MemberEvent::Denied { of, reason: why }
            | MemberEvent::ToolFailed { of, error: why } => {
                assert!(!why.trim().is_empty());
                self.advance(of, Seen::Over);
            }
            MemberEvent::Log { of, entry } => {
                assert!(!entry.trim().is_empty());
                assert!(self.tools.contains_key(&of.id), "{of:?} was never started");
            }
            MemberEvent::Complete { content, .. } => {
                assert_eq!(self.completed.replace(content.clone()), None);
            }
            MemberEvent::Status(_) => panic!("the feed says statuses"),
            MemberEvent::MemberMessage { .. }
            | MemberEvent::OutsideMessage { .. }
            | MemberEvent::Artifact(_)
            | MemberEvent::Error { .. } => {}
        }
    }

    fn advance(&mut self, of: &ToolInvocation, to: Seen) {
        assert_eq!(self.segments.get(&of.id), Some(&false), "{of:?} is written");
        let (name, seen) = self.tools.get_mut(&of.id).expect("it was started");
        assert_eq!(*name, of.tool);
        assert!(*seen < to, "{of:?} was {seen:?} and cannot be {to:?}");
        *seen = to;
    }
}

/// Few of each, so that they meet; some that are not usable.
fn id() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        2 => Just(None),
        6 => "[abc]".prop_map(Some),
        1 => prop_oneof![Just(String::new()), Just(" ".to_owned()), Just(format!("{TURN}:seg_2")), Just(format!("{TURN}:tool_1"))].prop_map(Some),
    ]
}

fn name() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), "(ls|sh| )".prop_map(Some)]
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        3 => Just(ChunkKind::Text),
        1 => Just(ChunkKind::Thinking),
        3 => Just(ChunkKind::ToolStart),
        3 => Just(ChunkKind::ToolInput),
        3 => Just(ChunkKind::ToolResult),
        1 => Just(ChunkKind::Status),
    ];
    let words = prop_oneof![Just(String::new()), "[a-zé {}\\[\\]1]{1,12}"];
    let chunk = (kind, words, name(), id()).prop_map(|(kind, text, tool_name, tool_call_id)| {
        Step::Event(Event::Chunk(Chunk {
            kind,
            text,
            tool_name,
            tool_call_id,
            extra: None,
            waiting_for: None,
        }))
    });
    let artifact = Just(Step::Event(Event::Artifact(Artifact::default())));
    let ask = (id(), any::<bool>(), name(), id(), any::<bool>()).prop_map(
        |(id, is_approval, tool_name, tool_call_id, has_arguments)| {
            Step::Ask(Ask {
                id: id.unwrap_or_default(),
                kind: if is_approval {
                    AskKind::Approval
                } else {
                    AskKind::Input
                },
                text: "May I?".into(),
                tool_name,
                tool_call_id,
                arguments: has_arguments.then(|| Json::parse("[1]").unwrap()),
                schema: None,
            })
        },
    );
    let answer = (any::<usize>(), any::<Option<bool>>(), any::<bool>()).prop_map(
        |(which, approved, has_words)| {
            let words = has_words.then(|| "so".to_owned());
            let answer = Answer {
                approved,
                content: words.clone(),
                reason: words,
                ..Answer::default()
            };
            Step::Answer(which, answer)
        },
    );
    prop_oneof![12 => chunk, 1 => artifact, 3 => ask, 3 => answer]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::done()),
        Just(End::Cancelled),
        Just(End::Failed(Failure::new(Reason::Timeout, "too late"))),
    ]
}

/// Renders all steps, and returns what a viewer sees.
fn play(max_text: usize, steps: Vec<Step>, end: &End) -> Viewer {
    let mut scene = Scene::bounded(max_text);
    let mut viewer = Viewer::default();
    let mut asks: Vec<(ToolInvocation, AskKind)> = Vec::new();
    for step in steps {
        match step {
            Step::Event(event) => scene.event(&event),
            Step::Ask(ask) => {
                let of = scene.asked(&ask);
                let told = scene.told.iter().any(|telling| {
                    matches!(telling, RenderedStep::Event(MemberEvent::ApprovalRequested { of: shown, .. }) if *shown == of)
                });
                assert!(told, "every ask is shown");
                asks.push((of, ask.kind));
            }
            Step::Answer(which, answer) => {
                if let Some((of, kind)) = asks.get(which % asks.len().max(1)) {
                    scene.answered(of, *kind, &answer);
                }
            }
        }
        scene
            .told
            .drain(..)
            .for_each(|telling| viewer.see(&telling));
        // Besides what was joined: quotes, how much is missing, and what the asks say.
        assert!(scene.renderer.tools.weight() <= max_text + asks.len() * 32);
    }
    scene.ended(end);
    scene
        .told
        .drain(..)
        .for_each(|telling| viewer.see(&telling));
    viewer
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_everything_is_begun_and_ended_once_and_in_order(
        max_text in 8..64usize,
        steps in proptest::collection::vec(step(), 0..60),
        end in end(),
    ) {
        let viewer = play(max_text, steps, &end);
        prop_assert!(viewer.segments.values().all(|is_open| !is_open));
        prop_assert!(viewer.tools.values().all(|(_, seen)| *seen == Seen::Over));
        let is_done = matches!(end, End::Done(_));
        prop_assert_eq!(viewer.completed.is_some(), is_done);
        if let Some(content) = viewer.completed && viewer.text.len() <= max_text {
            prop_assert_eq!(content, viewer.text);
        }
        let last = viewer.status.map(|(status, _)| status);
        let is_failed = matches!(end, End::Failed(_));
        prop_assert_eq!(last, Some(if is_failed { AgentStatus::Error } else { AgentStatus::Idle }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn a_call_of_very_many_tools_keeps_few_and_tells_them_all_once(
        steps in proptest::collection::vec(step(), 1500..1600),
    ) {
        let viewer = play(1 << 10, steps, &End::done());
        prop_assert!(viewer.tools.len() > super::super::tools::MAX_TOOLS);
        prop_assert!(viewer.tools.values().all(|(_, seen)| *seen == Seen::Over));
    }
}
