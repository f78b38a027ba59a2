//! The topics, one function each: both sides run through the topic, and the result must match the
//! table.

use jackfield_hub::matrix::{Support, Topic};
use jackfield_testkit::TestHub;
use serde_json::json;

use crate::matrix::{
    callee::{Callee, EndNotice, FAILURE_CODE, FAILURE_WORDS, LINK},
    caller::Caller,
    event::{CallerEvent, File},
    protocol::Protocol,
    setup::{self, Owner},
};

/// Bytes for a slow reader that gets all of them in the end.
const MUCH: usize = 1 << 20;

/// A hub, an agent, and a caller whose question has reached the agent.
struct CellFixture<C, A> {
    hub: TestHub,
    support: Support,
    caller: C,
    agent: A,
}

/// Runs a cell.
pub(crate) async fn run_cell<C: Caller, A: Callee>(topic: Topic) {
    let hub = setup::hub(topic, C::PROTOCOL, A::PROTOCOL).await;
    let support = C::PROTOCOL.calls(A::PROTOCOL, topic);
    match topic {
        Topic::UnknownAgent => return unknown::<C>(&hub).await,
        Topic::ForeignAgent => return foreign::<C, A>(&hub, &support).await,
        _ => {}
    }
    let mut agent = A::join(&hub, &Owner::Local).await;
    if is_apart::<C, A>(Protocol::P2p) {
        assert!(matches!(support, Support::Unsupported(_)));
        return expect_refused::<C>(&hub, &Owner::Local, &agent.id()).await;
    }
    let mut caller = C::join(&hub, &agent.id(), A::PROTOCOL).await;
    caller.call().await;
    agent.receive_call().await;
    let fixture = CellFixture {
        hub,
        support,
        caller,
        agent,
    };
    match topic {
        Topic::OneShot => fixture.one_shot().await,
        Topic::Streamed => fixture.streamed().await,
        Topic::Kinds => fixture.kinds().await,
        Topic::Attachment => fixture.attachment().await,
        Topic::Ask => fixture.ask().await,
        Topic::CancelByCaller => fixture.cancel().await,
        Topic::CallerGone => fixture.caller_gone().await,
        Topic::AgentGone => fixture.agent_gone().await,
        Topic::AgentError => fixture.agent_error().await,
        Topic::Timeout => fixture.timeout().await,
        Topic::SlowReader => fixture.slow_reader().await,
        Topic::UnknownAgent | Topic::ForeignAgent => {}
    }
}

impl<C: Caller, A: Callee> CellFixture<C, A> {
    async fn one_shot(mut self) {
        self.expect_full();
        self.agent.answers_at_once("It is 42.").await;
        self.expect_rest([CallerEvent::text("It is 42."), CallerEvent::Done])
            .await;
    }

    async fn streamed(mut self) {
        self.expect_full();
        for piece in ["one ", "two "] {
            self.agent.send_text(piece).await;
            // The agent continues only afterwards.
            assert_eq!(self.caller.next_event().await, CallerEvent::text(piece));
        }
        self.agent.ends().await;
        self.expect_rest([CallerEvent::Done]).await;
    }

    async fn kinds(mut self) {
        let all = vec![
            CallerEvent::Thinking("hm".to_owned()),
            CallerEvent::status("reading"),
            CallerEvent::ToolStart("Bash".to_owned()),
            CallerEvent::ToolResult("ok".to_owned()),
        ];
        let mut expected = match self.support {
            Support::Full(_) => all,
            Support::Converted(_) => C::converted_kinds(A::PROTOCOL == Protocol::P2p),
            Support::Unsupported(_) => vec![],
        };
        expected.extend([CallerEvent::text("done"), CallerEvent::Done]);
        self.agent.works().await;
        self.agent.send_text("done").await;
        self.agent.ends().await;
        self.expect_rest(expected).await;
    }

    async fn attachment(mut self) {
        self.agent.ends_with_file().await;
        if A::PROTOCOL == Protocol::P2p {
            self.expect_converted();
            let events = self.caller.rest().await;
            let words = match &events[..] {
                [CallerEvent::Text(words), CallerEvent::Done] => words,
                _ => panic!("{events:?}"),
            };
            assert!(words.contains(LINK), "{words}");
            return;
        }
        let is_link = matches!(self.support, Support::Converted(_));
        let file = CallerEvent::File(File::attached(is_link));
        self.expect_rest([file, CallerEvent::Done]).await;
    }

    async fn ask(mut self) {
        const QUESTION: &str = "which city?";
        self.agent.asks(QUESTION).await;
        match self.support {
            Support::Full(_) => {
                let asked = CallerEvent::Asked(QUESTION.to_owned());
                assert_eq!(self.caller.next_event().await, asked);
                self.caller.answer("Rome").await;
                assert_eq!(self.agent.is_answered().await, "Rome");
            }
            Support::Converted(_) => {
                assert_eq!(
                    self.caller.next_event().await,
                    CallerEvent::status(QUESTION)
                );
                let path = format!("/v1/calls/{}/answer", self.agent.call());
                let answer = json!({"ask_id": A::ASK, "content": "Rome"});
                let (status, body) = self.hub.web().post(&path, answer).await;
                assert_eq!(status, 204, "{body}");
                assert_eq!(self.agent.is_answered().await, "Rome");
            }
            Support::Unsupported(_) if C::PROTOCOL == Protocol::P2p => {
                self.expect_failed("unsupported", QUESTION).await;
                assert_eq!(self.agent.end_notice().await, EndNotice::Cancel);
                return;
            }
            // The frame isn't part of the protocol.
            Support::Unsupported(_) => {}
        }
        self.agent.send_text("sunny").await;
        self.agent.ends().await;
        self.expect_rest([CallerEvent::text("sunny"), CallerEvent::Done])
            .await;
    }

    async fn cancel(mut self) {
        self.expect_full();
        self.begin().await;
        self.caller.cancel().await;
        assert_eq!(self.agent.end_notice().await, EndNotice::Cancel);
        if is_apart::<C, A>(Protocol::Agora) {
            self.agent.ends().await;
            self.expect_rest([CallerEvent::Done]).await;
        } else {
            self.expect_rest([CallerEvent::Cancelled]).await;
        }
    }

    async fn caller_gone(mut self) {
        self.begin().await;
        self.caller.leave().await;
        match self.support {
            Support::Full(_) => assert_eq!(self.agent.end_notice().await, EndNotice::Cancel),
            Support::Converted(_) => {
                assert_eq!(self.agent.end_notice().await, EndNotice::CallerLeft)
            }
            Support::Unsupported(_) => {
                self.caller.reconnect().await;
                self.agent.send_text("two ").await;
                self.agent.ends().await;
                self.expect_rest([CallerEvent::text("one two "), CallerEvent::Done])
                    .await;
            }
        }
    }

    async fn agent_gone(mut self) {
        self.begin().await;
        self.agent.leaves().await;
        if A::PROTOCOL == Protocol::A2a {
            self.expect_converted();
            self.agent.resume_call().await;
            self.agent.send_text("two ").await;
            self.agent.ends().await;
            self.expect_rest([CallerEvent::text("two "), CallerEvent::Done])
                .await;
        } else {
            self.expect_failed("offline", "").await;
        }
    }

    async fn agent_error(mut self) {
        self.agent.fails().await;
        let reason = match A::PROTOCOL {
            Protocol::Agora | Protocol::Bridge | Protocol::Team => FAILURE_CODE,
            Protocol::A2a => "failed",
            Protocol::P2p => "peer_error",
            Protocol::OpenAi | Protocol::Acp => unreachable!("the protocol has no agents"),
        };
        let is_whole = matches!(self.support, Support::Full(_));
        let code = code(C::PROTOCOL, reason);
        assert_eq!(is_whole, code == FAILURE_CODE, "{code}");
        self.expect_failed(reason, FAILURE_WORDS).await;
    }

    async fn timeout(mut self) {
        if is_apart::<C, A>(Protocol::Agora) {
            assert!(matches!(self.support, Support::Unsupported(_)));
            // A call of the same age has timed out by now.
            let agent = self.hub.bridge("other").await;
            let mut events = self.hub.platform().relay("other", "r-1").await;
            assert_eq!(events.rest().await[0]["code"], "timeout");
            drop(agent);
            self.agent.send_text("late").await;
            self.agent.ends().await;
            return self
                .expect_rest([CallerEvent::text("late"), CallerEvent::Done])
                .await;
        }
        self.expect_full();
        self.expect_failed("timeout", "").await;
        assert_eq!(self.agent.end_notice().await, EndNotice::Cancel);
    }

    async fn slow_reader(mut self) {
        if matches!(self.support, Support::Unsupported(_)) {
            self.agent.floods(MUCH).await;
            self.agent.ends().await;
            let events = self.caller.rest().await;
            let lengths: Vec<_> = events
                .iter()
                .map(|it| match it {
                    CallerEvent::Text(text) => text.len(),
                    CallerEvent::Done => 0,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(lengths, [MUCH, 0]);
            return;
        }
        self.expect_full();
        self.agent.floods(C::UNREAD).await;
        let body = match is_apart::<C, A>(Protocol::Agora) {
            true => EndNotice::CallerDoesNotRead,
            false => EndNotice::Cancel,
        };
        assert_eq!(self.agent.end_notice().await, body);
        let events = self.caller.rest().await;
        let end = events.last().unwrap();
        let is_slow = matches!(end, CallerEvent::Failed { code: body, .. } if *body == code(C::PROTOCOL, "slow_reader"));
        assert!(is_slow, "{end:?}");
    }

    /// Sends text as the agent, and reads it as the caller.
    async fn begin(&mut self) {
        self.agent.send_text("one ").await;
        assert_eq!(self.caller.next_event().await, CallerEvent::text("one "));
    }

    fn expect_full(&self) {
        assert!(
            matches!(self.support, Support::Full(_)),
            "{:?}",
            self.support
        );
    }

    fn expect_converted(&self) {
        assert!(
            matches!(self.support, Support::Converted(_)),
            "{:?}",
            self.support
        );
    }

    async fn expect_rest(&mut self, expected: impl Into<Vec<CallerEvent>>) {
        assert_eq!(self.caller.rest().await, expected.into());
    }

    /// Checks that the next event is the failure.
    async fn expect_failed(&mut self, reason: &str, words: &str) {
        let events = self.caller.rest().await;
        expect_failure(C::PROTOCOL, reason, words, &events);
    }
}

async fn unknown<C: Caller>(hub: &TestHub) {
    expect_refused::<C>(hub, &Owner::Local, "nobody").await;
}

async fn foreign<C: Caller, A: Callee>(hub: &TestHub, support: &Support) {
    let (stranger, another) = (Owner::stranger(hub).await, Owner::another(hub).await);
    let owner = if A::IS_ALWAYS_LOCAL {
        &Owner::Local
    } else {
        &another
    };
    let mut agent = A::join(hub, owner).await;
    if matches!(support, Support::Full(_)) {
        return expect_refused::<C>(hub, &stranger, &agent.id()).await;
    }
    // Callers with rights to all agents have no foreign agents.
    let mut caller = C::join(hub, &agent.id(), A::PROTOCOL).await;
    caller.call().await;
    agent.receive_call().await;
    agent.answers_at_once("yes").await;
    assert_eq!(
        caller.rest().await,
        [CallerEvent::text("yes"), CallerEvent::Done]
    );
}

async fn expect_refused<C: Caller>(hub: &TestHub, owner: &Owner, target: &str) {
    let mut caller = C::join_without_access(hub, owner, target).await;
    let refused = caller.refused().await;
    expect_failure(C::PROTOCOL, "not_found", "", &[refused]);
}

fn expect_failure(caller: Protocol, reason: &str, words: &str, events: &[CallerEvent]) {
    let code = code(caller, reason);
    match events {
        [
            CallerEvent::Failed {
                code: body,
                words: said,
            },
        ] if *body == code && said.contains(words) => {}
        _ => panic!("{events:?} is not a failure {code} with {words:?}"),
    }
}

/// Whether both sides use this protocol, and so are connected directly instead of by a call.
fn is_apart<C: Caller, A: Callee>(protocol: Protocol) -> bool {
    C::PROTOCOL == protocol && A::PROTOCOL == protocol
}

/// The caller's code of a failure.
fn code(caller: Protocol, reason: &str) -> String {
    let is_own = [FAILURE_CODE, "failed", "peer_error"].contains(&reason);
    let code = match (caller, reason) {
        (Protocol::Bridge, "offline" | "not_found") => "agent_offline",
        (Protocol::Bridge, "slow_reader") => "internal_error",
        (Protocol::A2a, "not_found") => "-32000",
        (Protocol::Team, "not_found") => "TARGET_MEMBER_NOT_PLACED",
        (Protocol::Team, _) if is_own => "agent",
        (Protocol::OpenAi, "not_found") => "model_not_found",
        (Protocol::P2p, "not_found") => "404",
        (Protocol::P2p, "offline") => "502",
        (Protocol::P2p, "timeout") => "504",
        (_, reason) => reason,
    };
    code.to_owned()
}
