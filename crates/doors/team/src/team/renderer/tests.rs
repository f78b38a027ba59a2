//! What is told of a call, line by line. `T` stands for the turn's id.

mod any;
mod asks;
mod ends;
mod speech;
mod tools;

use jackfield_core::limits::Limits;
use jackfield_kit::files::FileKey;

use super::*;

const CALL: &str = "019a8c00-0000-7000-8000-0000000000ab";
const TURN: &str = "turn_019a8c000000700080000000000000ab";

/// A renderer, and the events that it made since the last look.
struct Scene {
    renderer: MemberRenderer,
    files: Files,
    told: Vec<RenderedStep>,
}

impl Scene {
    fn new() -> Self {
        Self::bounded(1 << 16)
    }

    fn bounded(max_text: usize) -> Self {
        let files = Files::new(&Limits::default());
        files.serve_at("http://hub", FileKey::new("key"));
        Self {
            renderer: MemberRenderer::new(CallId::parse(CALL).unwrap(), max_text),
            files,
            told: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        let told = &mut self.told;
        self.renderer
            .event(event, &self.files, &mut |telling| told.push(telling));
    }

    /// A chunk as an agent writes it.
    fn chunk(&mut self, chunk: &str) {
        self.event(&Event::from_log("chunk", chunk).unwrap());
    }

    fn text(&mut self, text: &str) {
        self.event(&Event::text(text));
    }

    fn artifact(&mut self, artifact: &str) {
        self.event(&Event::from_log("artifact", artifact).unwrap());
    }

    fn asked(&mut self, ask: &Ask) -> ToolInvocation {
        let told = &mut self.told;
        self.renderer.asked(ask, &mut |telling| told.push(telling))
    }

    /// An approval ask as an agent writes it, without the kind.
    fn approval(&mut self, ask: &str) -> ToolInvocation {
        self.ask("approval", ask)
    }

    fn ask(&mut self, kind: &str, ask: &str) -> ToolInvocation {
        let mut ask: serde_json::Value = serde_json::from_str(ask).unwrap();
        ask["kind"] = kind.into();
        self.asked(&serde_json::from_value(ask).unwrap())
    }

    fn answered(&mut self, of: &ToolInvocation, kind: AskKind, answer: &Answer) {
        let told = &mut self.told;
        self.renderer
            .answered(of, kind, answer, &mut |telling| told.push(telling));
    }

    fn answer(&mut self, of: &ToolInvocation, kind: AskKind, answer: &str) {
        self.answered(of, kind, &serde_json::from_str(answer).unwrap());
    }

    fn ended(&mut self, end: &End) {
        let told = &mut self.told;
        self.renderer
            .ended(end, &self.files, &mut |telling| told.push(telling));
    }

    fn done(&mut self, done: &str) {
        self.ended(&End::Done(serde_json::from_str(done).unwrap()));
    }

    /// What was told since it was last looked at, one line each.
    #[track_caller]
    fn tells(&mut self, expected: &[&str]) {
        let told: Vec<String> = self.told.drain(..).map(|telling| line(&telling)).collect();
        assert_eq!(told, expected);
    }

    /// The same, statuses left out.
    #[track_caller]
    fn shows(&mut self, expected: &[&str]) {
        self.told
            .retain(|telling| matches!(telling, RenderedStep::Event(_)));
        self.tells(expected);
    }

    /// The statuses alone, since it was last looked at.
    #[track_caller]
    fn statuses(&mut self, expected: &[&str]) {
        self.told
            .retain(|telling| matches!(telling, RenderedStep::Status { .. }));
        self.tells(expected);
    }
}

fn line(telling: &RenderedStep) -> String {
    let words = match telling {
        RenderedStep::Status { new, tool, error } => vec![
            "is".to_owned(),
            format!("{new:?}"),
            tool.as_deref().unwrap_or_default().to_owned(),
            error.clone().unwrap_or_default(),
        ],
        RenderedStep::Event(event) => words(event),
    };
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").replace(TURN, "T")
}

fn words(event: &MemberEvent) -> Vec<String> {
    let json = |json: &Option<Json>| json.as_ref().map_or("", Json::get).to_owned();
    let of = |verb: &str, of: &ToolInvocation, more: &str| {
        vec![
            verb.to_owned(),
            of.id.to_string(),
            of.tool.to_string(),
            more.to_owned(),
        ]
    };
    match event {
        MemberEvent::SegmentStart { id, kind, tool } => vec![
            "start".to_owned(),
            id.to_string(),
            format!("{kind:?}"),
            tool.as_deref().unwrap_or_default().to_owned(),
        ],
        MemberEvent::SegmentContent { id, delta, .. } => {
            vec!["content".to_owned(), id.to_string(), delta.clone()]
        }
        MemberEvent::SegmentEnd {
            id,
            tool,
            arguments,
        } => vec![
            "end".to_owned(),
            id.to_string(),
            tool.as_deref().unwrap_or_default().to_owned(),
            json(arguments),
        ],
        MemberEvent::Status(_) => panic!("the feed says statuses"),
        MemberEvent::Complete {
            content,
            is_cut,
            usage,
        } => {
            let how = if *is_cut { "cut" } else { "complete" };
            vec![how.to_owned(), content.clone(), json(usage)]
        }
        MemberEvent::ApprovalRequested {
            of: it, arguments, ..
        } => of("asks", it, arguments.get()),
        MemberEvent::Approved { of: it, reason } => {
            of("may", it, reason.as_deref().unwrap_or_default())
        }
        MemberEvent::Denied { of: it, reason } => of("may-not", it, reason),
        MemberEvent::ToolStarted { of: it, arguments } => of("runs", it, &json(arguments)),
        MemberEvent::ToolSucceeded { of: it, result } => of("gave", it, &json(result)),
        MemberEvent::ToolFailed { of: it, error } => of("failed", it, error),
        MemberEvent::Log { of: it, entry } => of("log", it, entry),
        MemberEvent::MemberMessage {
            sender,
            recipient,
            content,
        } => vec![
            sender.to_string(),
            "to".to_owned(),
            recipient.to_string(),
            content.clone(),
        ],
        MemberEvent::OutsideMessage {
            sender,
            recipient,
            content,
            ..
        } => vec![
            "told".to_owned(),
            sender.clone(),
            recipient.to_string(),
            content.clone(),
        ],
        MemberEvent::Artifact(made) => vec![
            "made".to_owned(),
            made.id.clone(),
            made.path.clone(),
            made.kind.to_owned(),
            made.url.clone().unwrap_or_default(),
            (if made.is_whole { "whole" } else { "part" }).to_owned(),
        ],
        MemberEvent::Error { code, message } => {
            vec!["error".to_owned(), code.clone(), message.clone()]
        }
    }
}
