//! Several agents that answer as a team.

use std::sync::Arc;

use jackfield_sdk::{Agent, AgentFailure, Event, Team};
use tokio::sync::{Barrier, Notify};

use crate::in_process::hub::{call, echo, endless, is_dropped, next_chunk, outcome, with, words};

fn shout(id: &str) -> Agent {
    Agent::new(id).on_message(|message, reply| async move {
        Ok(reply.text(message.text.to_uppercase()).await?)
    })
}

fn fails(id: &str) -> Agent {
    Agent::new(id)
        .on_message(|_, _| async move { Err(AgentFailure::new("quota", "no more today").into()) })
}

#[tokio::test]
async fn without_a_coordinator_all_members_answer_at_once_under_their_names() {
    // All members begin before any answers, and the first member answers last.
    let (begun, second_is_done) = (Arc::new(Barrier::new(2)), Arc::new(Notify::new()));
    let (barrier, done) = (begun.clone(), second_is_done.clone());
    let first = Agent::new("first")
        .name("The first")
        .on_message(move |message, reply| {
            let (barrier, done) = (barrier.clone(), done.clone());
            async move {
                barrier.wait().await;
                done.notified().await;
                reply.thinking("at last").await?;
                Ok(reply.text(format!("{}!", message.text)).await?)
            }
        });
    let second = Agent::new("second").on_message(move |message, reply| {
        let (barrier, done) = (begun.clone(), second_is_done.clone());
        async move {
            barrier.wait().await;
            reply.text(format!("{}?", message.text)).await?;
            done.notify_one();
            Ok(())
        }
    });
    let (hub, _team) = with(Team::new("team").member(first).member(second)).await;
    let outcome = outcome(call(&hub, "team", "hello")).await;
    assert_eq!(outcome.words, "The first:\nhello!\n\nsecond:\nhello?");
    assert_eq!(outcome.other_chunks, [("thinking", "at last".to_owned())]);
}

#[tokio::test]
async fn a_member_that_fails_says_so_and_the_team_fails_only_if_all_do() {
    let team = Team::new("team").member(fails("a")).member(shout("b"));
    let (hub, _team) = with(team).await;
    assert_eq!(
        words(&hub, "team", "x").await,
        "a:\n(failed: no more today)\n\nb:\nX"
    );
    let team = Team::new("team").member(fails("a")).member(fails("b"));
    let (hub, _team) = with(team).await;
    let outcome = outcome(call(&hub, "team", "x")).await;
    assert_eq!(outcome.failure(), ("quota", "no more today"));
    let (hub, _team) = with(Team::new("team")).await;
    let empty_team = crate::in_process::hub::outcome(call(&hub, "team", "x")).await;
    assert_eq!(empty_team.failure().1, "this team has no members");
}

#[tokio::test]
async fn a_coordinator_asks_members_by_name_and_hears_them_as_they_speak() {
    let words_of = Agent::new("words").on_message(|message, reply| async move {
        for word in message.text.split_inclusive(' ') {
            reply.text(word).await?;
        }
        Ok(())
    });
    let team = Team::new("team")
        .member(words_of)
        .member(shout("shout"))
        .coordinator(|message, reply, team| async move {
            let names: Vec<&str> = team.names().collect();
            reply.status(names.join(" ")).await?;
            let loud = team.ask("shout", message.text)?.text().await?;
            let mut spoken = team.ask("words", loud)?;
            while let Some(event) = spoken.next().await? {
                match event {
                    Event::Chunk(chunk) => reply.text(format!("[{}]", chunk.text)).await?,
                    Event::Done(done) => reply.status(done.state.name()).await?,
                    other => panic!("{other:?}"),
                }
            }
            assert!(spoken.next().await?.is_none(), "nothing after the end");
            Ok(())
        });
    let (hub, _team) = with(team).await;
    let outcome = outcome(call(&hub, "team", "hello there")).await;
    assert_eq!(outcome.words, "[HELLO ][THERE]");
    let other_chunks: Vec<_> = outcome
        .other_chunks
        .iter()
        .map(|(_, text)| &**text)
        .collect();
    assert_eq!(other_chunks, ["words shout", "completed"]);
}

#[tokio::test]
async fn a_coordinator_hears_why_a_member_failed_and_who_is_no_member() {
    let team = Team::new("team")
        .member(fails("a"))
        .coordinator(|message, _, team| async move {
            team.ask(&message.text, "x")?.text().await?;
            Ok(())
        });
    let (hub, _team) = with(team).await;
    for (name, failure) in [
        ("a", ("quota", "no more today")),
        ("b", ("agent_not_found", "this team has no member \"b\"")),
    ] {
        assert_eq!(outcome(call(&hub, "team", name)).await.failure(), failure);
    }
}

#[tokio::test]
async fn whoever_leaves_stops_all_members() {
    let (one, mut first) = endless("one");
    let (two, mut second) = endless("two");
    let team =
        Team::new("team")
            .member(one)
            .member(two)
            .coordinator(|message, reply, team| async move {
                let mut calls = ["one", "two"].map(|name| team.ask(name, &*message.text));
                for call in &mut calls {
                    call.as_mut()
                        .map_err(|failure| failure.clone())?
                        .next()
                        .await?;
                }
                reply.text("both work").await?;
                std::future::pending().await
            });
    let (hub, _team) = with(team).await;
    let mut replies = call(&hub, "team", "x");
    assert_eq!(next_chunk(&mut replies).await.text, "both work");
    drop(replies);
    is_dropped(&mut first).await;
    is_dropped(&mut second).await;
}

#[tokio::test]
async fn a_coordinator_may_listen_to_several_members_and_miss_nothing() {
    let chatty = |id: &'static str| {
        Agent::new(id).on_message(move |_, reply| async move {
            for number in 0..50 {
                reply.attach(jackfield_sdk::File::bytes(vec![1])).await?;
                reply.text(format!("{id}{number} ")).await?;
            }
            Ok(())
        })
    };
    let team = Team::new("team")
        .member(chatty("a"))
        .member(chatty("b"))
        .coordinator(|_, reply, team| async move {
            let (mut a, mut b) = (team.ask("a", "x")?, team.ask("b", "x")?);
            let (mut from_a, mut from_b) = (String::new(), String::new());
            let mut left = 2;
            while left > 0 {
                let (event, texts_of) = tokio::select! {
                    Ok(Some(event)) = a.next() => (event, &mut from_a),
                    Ok(Some(event)) = b.next() => (event, &mut from_b),
                };
                match event {
                    Event::Chunk(chunk) => texts_of.push_str(&chunk.text),
                    Event::Done(_) => left -= 1,
                    other => panic!("{other:?}"),
                }
            }
            Ok(reply.text(format!("{from_a}{from_b}")).await?)
        });
    let (hub, _team) = with(team).await;
    let mut replies = call(&hub, "team", "x");
    let (mut text, mut files) = (String::new(), 0);
    loop {
        use jackfield_core::call::Reply;
        use jackfield_model::Event;
        match crate::in_process::hub::next(&mut replies).await {
            Reply::Event(Event::Chunk(chunk)) => text += &chunk.text,
            Reply::Event(_) => files += 1,
            Reply::End(_) => break,
        }
    }
    let expected = ["a", "b"].map(|id| (0..50).map(|n| format!("{id}{n} ")).collect::<String>());
    assert_eq!((text, files), (expected.concat(), 100));
}

#[tokio::test]
async fn a_later_member_of_the_same_name_takes_the_place_of_the_earlier() {
    let team = Team::new("team").member(echo("a")).member(shout("a"));
    let (hub, _team) = with(team).await;
    assert_eq!(words(&hub, "team", "x").await, "a:\nX");
}

#[tokio::test]
async fn a_word_in_passing_of_a_member_is_a_completed_answer() {
    let member = Agent::new("member").on_message(|_, reply| async move {
        reply.bare_message();
        Ok(())
    });
    let team = Team::new("team")
        .member(member)
        .coordinator(|message, reply, team| async move {
            let mut member_reply = team.ask("member", message.text)?;
            while let Some(event) = member_reply.next().await? {
                if let Event::Done(done) = event {
                    reply.text(done.state.name()).await?;
                }
            }
            Ok(())
        });
    let (hub, _team) = with(team).await;
    assert_eq!(words(&hub, "team", "x").await, "completed");
}
