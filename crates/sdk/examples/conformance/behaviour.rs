//! What the conformance agent does with a message: the first words of the message's id decide, as the kits for A2A have
//! it. Ids go on after these words, and the longest that fit count.

use std::time::Duration;

use jackfield_sdk::{Agent, Artifact, File, HandlerError, Message, Reply, Skill};
use serde_json::json;
use tokio::time::sleep;

/// As long as the kits wait for a stream, which is twice as long for a stream that is taken up again. The variable is
/// theirs.
fn a_stream() -> Duration {
    let said = std::env::var("TCK_STREAMING_TIMEOUT").ok();
    let seconds = said.and_then(|text| text.parse().ok());
    let said = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    said.unwrap_or(Duration::from_secs(2))
}

/// Long enough for the v0.3 kit to cancel a task while it is worked on.
const A_WHILE: Duration = Duration::from_secs(3);

/// The kit that the agent is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kit {
    /// For A2A v1.0: most tasks end at once.
    #[default]
    V1,
    /// For A2A v0.3: tasks are worked on for a while and then wait for more, so that they can be cancelled and continued.
    V03,
}

/// What is done with a message.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    /// Says these words.
    Say(&'static str),
    /// Says what it was told.
    Echo,
    /// Ends without a word.
    Nothing,
    /// Works as long as so many streams, then says these words.
    Work(u32, &'static str),
    /// Works this long, then waits for another message of the same task.
    Ask(Duration),
    /// Works as long as two streams, then waits for another message of the same task.
    AskLate,
    /// Waits for credentials.
    Authenticate,
    /// Will not do it.
    Reject,
    /// Says these words in passing.
    Message(&'static str),
    /// Makes something of these words.
    Text(&'static str),
    /// Makes something of these words, piece by piece.
    Pieces([&'static str; 2]),
    /// Makes a file, with its bytes.
    Bytes,
    /// Makes a file that is elsewhere.
    Link,
    /// Makes data.
    Data,
}

const V1: &[(&str, Behaviour)] = &[
    ("tck-complete-task", Behaviour::Say("Hello from TCK")),
    (
        "tck-delayed-complete",
        Behaviour::Work(1, "Done after delay"),
    ),
    (
        "tck-artifact-text",
        Behaviour::Text("Generated text content"),
    ),
    ("tck-artifact-file", Behaviour::Bytes),
    ("tck-artifact-file-url", Behaviour::Link),
    ("tck-artifact-data", Behaviour::Data),
    (
        "tck-message-response",
        Behaviour::Message("Direct message response"),
    ),
    ("tck-input-required", Behaviour::Ask(Duration::ZERO)),
    ("tck-auth-required", Behaviour::Authenticate),
    ("tck-reject-task", Behaviour::Reject),
    ("tck-stream-001", Behaviour::Text("Stream hello from TCK")),
    ("tck-stream-002", Behaviour::Nothing),
    ("tck-stream-003", Behaviour::Text("Stream task lifecycle")),
    ("tck-stream-ordering-001", Behaviour::Text("Ordered output")),
    (
        "tck-stream-artifact-text",
        Behaviour::Text("Streamed text content"),
    ),
    ("tck-stream-artifact-file", Behaviour::Bytes),
    (
        "tck-stream-artifact-chunked",
        Behaviour::Pieces(["chunk-1 ", "chunk-2"]),
    ),
    (
        "test-resubscribe-message-id",
        Behaviour::Work(2, "Done after delay"),
    ),
    ("", Behaviour::Echo),
];

const V03: &[(&str, Behaviour)] = &[
    ("test-resubscribe-message-id", Behaviour::AskLate),
    ("", Behaviour::Ask(A_WHILE)),
];

impl Behaviour {
    fn of(kit: Kit, message_id: &str) -> Self {
        let table = match kit {
            Kit::V1 => V1,
            Kit::V03 => V03,
        };
        let fits = |(prefix, _): &&(&str, Self)| message_id.starts_with(prefix);
        let longest = table
            .iter()
            .filter(fits)
            .max_by_key(|(prefix, _)| prefix.len());
        longest.map_or(Self::Echo, |(_, behaviour)| *behaviour)
    }

    async fn run(self, message: Message, reply: Reply) -> Result<(), HandlerError> {
        let made = Artifact::new("made");
        match self {
            Self::Say(words) => reply.text(words).await?,
            Self::Echo => reply.text(message.text).await?,
            Self::Nothing => {}
            Self::Work(streams, words) => {
                sleep(a_stream() * streams).await;
                reply.text(words).await?;
            }
            Self::Ask(time) => ask(time, &reply).await?,
            Self::AskLate => ask(a_stream() * 2, &reply).await?,
            Self::Authenticate => {
                reply.text("Who are you?").await?;
                reply.auth_required();
            }
            Self::Reject => {
                reply.text("rejected").await?;
                reply.rejected();
            }
            Self::Message(words) => {
                reply.text(words).await?;
                reply.bare_message();
            }
            Self::Text(words) => reply.artifact(made.text(words)).await?,
            Self::Pieces([first, last]) => {
                reply.artifact(made.clone().text(first).open()).await?;
                reply.artifact(made.text(last).append()).await?;
            }
            Self::Bytes => {
                let file = File::bytes(*b"tck").name("output.txt").mime("text/plain");
                reply.artifact(made.file(file)).await?;
            }
            Self::Link => {
                let file = File::at("https://example.com/output.txt");
                let file = file.name("output.txt").mime("text/plain");
                reply.artifact(made.file(file)).await?;
            }
            Self::Data => {
                let data = json!({"key": "value", "count": 42});
                reply.artifact(made.data(data)).await?;
            }
        }
        Ok(())
    }
}

async fn ask(after: Duration, reply: &Reply) -> Result<(), HandlerError> {
    sleep(after).await;
    reply.text("What next?").await?;
    reply.input_required();
    Ok(())
}

/// The agent, with all that its card wants.
pub(crate) fn agent(id: &str, kit: Kit) -> Agent {
    let skill = Skill::new("tck")
        .name("Conformance")
        .description("Does what the id of a message asks for");
    let agent = Agent::new(id)
        .name("Conformance agent")
        .description("Behaves as the conformance kits for A2A want it")
        .agent_type("example")
        .version("1.0.0")
        .skill(skill);
    // One test wants to be told that a media type is not taken.
    let agent = match kit {
        Kit::V1 => agent
            .input_mode("text/plain")
            .input_mode("application/json"),
        // Its tests of files and data look for these words, and not for media types.
        Kit::V03 => agent
            .output_mode("text")
            .output_mode("file")
            .output_mode("data"),
    };
    agent
        .output_mode("text/plain")
        .output_mode("application/json")
        .on_message(move |message, reply| {
            let message_id = message.message_id.as_deref().unwrap_or_default();
            Behaviour::of(kit, message_id).run(message, reply)
        })
}
