//! Behaviour on a terminal: tables, colours, questions.

use std::{
    fs::File,
    io::{Read, Write},
    process::Stdio,
};

use jackfield_core::principal::Principal;
use jackfield_model::{Ask, AskKind, Chunk, ChunkKind, End, Event, Input, Json, Owner};
use jackfield_testkit::{SOON, TestHub, attach_agent, attach_agent_as};
use rustix::{
    process::Pid,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use crate::cli::asks::question;
use crate::run::Cli;

/// A program at a terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    shown: mpsc::Receiver<String>,
    screen: String,
}

impl Terminal {
    pub(crate) fn start(command: Command) -> Self {
        Self::start_wide(command, 80)
    }

    /// Starts a program at a terminal with this many columns.
    pub(crate) fn start_wide(mut command: Command, columns: u16) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).expect("a terminal");
        unlockpt(&controller).expect("a terminal");
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&controller, size).expect("a size");
        let name = ptsname(&controller, Vec::new()).expect("its name");
        let path = name.into_string().expect("text");
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .open(&path)
                .expect("its other side")
        };
        command
            .env("TERM", "xterm")
            .stdin(Stdio::from(open()))
            .stdout(Stdio::from(open()))
            .stderr(Stdio::from(open()));
        let child = command.spawn().expect("the binary runs");
        drop(command);
        let mut screen = File::from(controller);
        let keys = screen.try_clone().expect("a copy");
        let (send, shown) = mpsc::channel(64);
        // Ends with the program, when the other side of the terminal closes.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                if send.blocking_send(text).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            shown,
            screen: String::new(),
        }
    }

    /// Waits until the screen has a text.
    pub(crate) async fn until(&mut self, text: &str) {
        while !self.screen.contains(text) {
            let more = timeout(SOON, self.shown.recv()).await;
            match more.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.screen)) {
                Some(more) => self.screen += &more,
                None => panic!("it ended without {text:?}: {:?}", self.screen),
            }
        }
    }

    /// Returns the next output, or `None` at the end.
    pub(crate) async fn more(&mut self) -> Option<String> {
        let more = timeout(SOON, self.shown.recv()).await;
        more.expect("nothing came in time")
    }

    /// Waits until the screen has a text after its current content.
    pub(crate) async fn until_again(&mut self, text: &str) {
        self.screen.clear();
        self.until(text).await;
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("it reads");
    }

    /// The process id.
    pub(crate) fn pid(&self) -> Pid {
        let pid = self.child.id().expect("it runs");
        Pid::from_raw(pid.cast_signed()).expect("it runs")
    }

    /// Waits for the end; returns the exit code and all output.
    pub(crate) async fn end(mut self) -> (Option<i32>, String) {
        let status = timeout(SOON, self.child.wait()).await;
        let code = status.expect("it ends").expect("it runs").code();
        while let Ok(Some(more)) = timeout(SOON, self.shown.recv()).await {
            self.screen += &more;
        }
        (code, self.screen)
    }
}

#[tokio::test]
async fn a_table_has_a_header_and_colours_unless_told_otherwise() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _bob = attach_agent(hub.hub(), "bob");
    let (code, screen) = Terminal::start(cli.command(&["ls"])).end().await;
    assert_eq!(code, Some(0));
    assert!(
        screen.contains("STATE") && screen.contains("\u{1b}["),
        "{screen:?}"
    );
    let mut command = cli.command(&["ls"]);
    command.env("NO_COLOR", "1");
    let (_, screen) = Terminal::start(command).end().await;
    assert!(
        screen.contains("STATE") && !screen.contains('\u{1b}'),
        "{screen:?}"
    );
}

#[tokio::test]
async fn owners_are_named_only_when_there_are_several() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _one = attach_agent(hub.hub(), "one");
    let (_, screen) = Terminal::start(cli.command(&["ls"])).end().await;
    assert!(!screen.contains("OWNER"), "{screen:?}");
    let ann = Principal::admin(Owner::parse("ann").unwrap());
    let _two = attach_agent_as(hub.hub(), &ann, "two", false);
    let (_, screen) = Terminal::start(cli.command(&["ls"])).end().await;
    assert!(
        screen.contains("OWNER") && screen.contains("ann"),
        "{screen:?}"
    );
}

#[tokio::test]
async fn an_id_is_never_broken_in_two() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    hub.token(
        "somebody-with-a-long-name",
        &["agent:*", "call:*", "watch:*"],
    )
    .await;
    let id = hub.hub().tokens().list()[0].id.to_string();
    let (_, screen) = Terminal::start(cli.command(&["token", "ls"])).end().await;
    assert!(screen.contains(&id), "{screen}");
}

#[tokio::test]
async fn thinking_is_shown_dimmed_and_text_cannot_steer_the_terminal() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(cli.command(&["call", "bob", "x"]));
    let serving = agent.next_call().await;
    serving.push(Event::Chunk(Chunk {
        kind: ChunkKind::Thinking,
        ..Chunk::text("let me see")
    }));
    terminal.until("let me see").await;
    serving.push(Event::text("a\u{1b}]0;title\u{7}b"));
    serving.finish(End::done());
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(0));
    assert!(
        screen.contains("\u{1b}[2mlet me see\u{1b}[0m"),
        "{screen:?}"
    );
    assert!(screen.contains("a]0;titleb\r\n"), "{screen:?}");
}

#[tokio::test]
async fn questions_are_asked_and_answered() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(cli.command(&["call", "bob", "x"]));
    let serving = agent.next_call().await;
    serving.push(Event::text("let me ask"));
    serving.ask(question("q1", AskKind::Input));
    terminal.until("which one?").await;
    terminal.until("> ").await;
    terminal.type_in("the blue one\n");
    let answer = timeout(SOON, async {
        loop {
            let mut inputs = Vec::new();
            serving.input().take(&mut inputs, usize::MAX);
            match inputs.pop() {
                Some(Input::Answer(_, answer)) => break answer,
                _ => tokio::task::yield_now().await,
            }
        }
    });
    let answer = answer.await.expect("an answer comes");
    assert_eq!(answer.content.as_deref(), Some("the blue one"));
    serving.push(Event::text("blue it is"));
    serving.finish(End::done());
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(0));
    assert!(screen.contains("blue it is"), "{screen:?}");
}

#[tokio::test]
async fn the_owner_who_calls_is_asked_for_approvals_right_there() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(cli.command(&["call", "bob", "x"]));
    let serving = agent.next_call().await;
    serving.ask(Ask {
        tool_name: Some("rm".to_owned()),
        arguments: Json::parse(r#"{"path":"/x"}"#).ok(),
        ..question("q1", AskKind::Approval)
    });
    for shown in ["which one?", "rm", r#"{"path":"/x"}"#, "approve?"] {
        terminal.until(shown).await;
    }
    terminal.type_in("y\n");
    let answer = timeout(SOON, async {
        loop {
            let mut inputs = Vec::new();
            serving.input().take(&mut inputs, usize::MAX);
            match inputs.pop() {
                Some(Input::Answer(_, answer)) => break answer,
                _ => tokio::task::yield_now().await,
            }
        }
    });
    let answer = answer.await.expect("an answer comes");
    assert_eq!(answer.approved, Some(true));
    serving.finish(End::done());
    assert_eq!(terminal.end().await.0, Some(0));
}

#[tokio::test]
async fn ctrl_d_at_a_question_is_no_answer_and_ends_the_call() {
    let hub = TestHub::start().await;
    let mut agent = attach_agent(hub.hub(), "bob");
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(cli.command(&["call", "bob", "x"]));
    let serving = agent.next_call().await;
    serving.ask(question("q1", AskKind::Input));
    terminal.until("> ").await;
    terminal.type_in("\u{4}");
    assert_eq!(agent.next_cancel().await, serving.call().id);
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(7));
    assert!(screen.contains("no answer was given"), "{screen:?}");
    assert!(!screen.contains("there are no agents"), "{screen:?}");
}

#[tokio::test]
async fn forgetting_an_agent_is_asked_about() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _bob = attach_agent(hub.hub(), "bob");
    let mut terminal = Terminal::start(cli.command(&["rm", "bob"]));
    terminal.until("[y/N]").await;
    terminal.type_in("n\n");
    assert_eq!(terminal.end().await.0, Some(7));
    cli.run(&["show", "bob"]).await.ok();
    let mut terminal = Terminal::start(cli.command(&["rm", "bob"]));
    terminal.until("[y/N]").await;
    terminal.type_in("y\n");
    assert_eq!(terminal.end().await.0, Some(0));
    cli.run(&["show", "bob"]).await.code(3);
}

#[tokio::test]
async fn without_text_at_a_terminal_it_says_what_to_give() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (code, screen) = Terminal::start(cli.command(&["call", "bob"])).end().await;
    assert_eq!(code, Some(2));
    assert!(screen.contains("give TEXT"), "{screen:?}");
}
