//! Real threads against each other: whatever they do, every call ends once and nothing is left behind.

use std::{sync::atomic::AtomicUsize, thread};

use super::*;
use jackfield_model::Chunk;

/// A small generator, so that a run can be told from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Works on what its line is handed until told to stop: answers, fails, falls silent, leaves and comes back.
fn serve(hub: &Hub, name: &str, one_at_a_time: bool, seed: u64, is_over: &AtomicBool) {
    let mut dice = Dice(seed);
    while !is_over.load(Ordering::Acquire) {
        let line = Arc::new(Line {
            one_at_a_time,
            ..Line::default()
        });
        let Ok(mut attached) = attach_as(hub, &ann(), name, &line, dice.roll(2) == 0) else {
            thread::yield_now();
            continue;
        };
        attached.set_resumable(dice.roll(3) == 0);
        let mut open: Vec<AgentHandle> = attached.adopted.drain(..).collect();
        for _ in 0..dice.roll(200) {
            open.extend(line.try_next());
            if open.is_empty() {
                thread::yield_now();
                continue;
            }
            let at = usize::try_from(dice.roll(open.len() as u64)).unwrap();
            match dice.roll(10) {
                0..=5 => drop(open[at].push(Event::text("word "))),
                6 => drop(open[at].ask(asks::question(&dice.roll(9).to_string()))),
                7 | 8 => drop(open.swap_remove(at).finish(End::done())),
                _ => drop(open.swap_remove(at)),
            }
        }
        drop(attached);
        if dice.roll(2) == 0 {
            line.is_dead.store(true, Ordering::Release);
        }
    }
}

/// Calls at random, reads a little, answers, leaves; counts the ends it sees.
fn call(hub: &Hub, seed: u64, rounds: usize, ends: &AtomicUsize) -> usize {
    let mut dice = Dice(seed);
    let mut made = 0;
    let mut open: Vec<(CallerHandle, bool)> = Vec::new();
    for _ in 0..rounds {
        if open.len() < 20 {
            let target = format!("a{}", dice.roll(3));
            let session = format!("s{}", dice.roll(4));
            let parent = open
                .first()
                .map_or(Parent::Unsaid, |(asking, _)| Parent::Call(asking.call().id));
            let request = Request {
                parent,
                ..in_session(&session, to(&target, "hi"))
            };
            if let Ok(asking) = hub.calls().open(request) {
                open.push((asking, false));
                made += 1;
            }
        }
        if open.is_empty() {
            thread::yield_now();
            continue;
        }
        let at = usize::try_from(dice.roll(open.len() as u64)).unwrap();
        let (asking, has_ended) = &mut open[at];
        if let Some(end) = asking.take(&mut Vec::new(), 100) {
            assert!(!*has_ended, "a second end: {end:?}");
            *has_ended = true;
            ends.fetch_add(1, Ordering::Relaxed);
        }
        match dice.roll(8) {
            0 => drop(hub.calls().cancel(&ann(), asking.call().id)),
            1 => drop(open.swap_remove(at)),
            2 => {
                let answer = Answer {
                    content: Some("this".into()),
                    ..Answer::default()
                };
                drop(hub.calls().answer(
                    &ann(),
                    asking.call().id,
                    &dice.roll(9).to_string(),
                    answer,
                ));
            }
            _ => {}
        }
    }
    made
}

#[test]
fn whatever_threads_do_every_call_ends_once_and_nothing_is_left() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let hub = runtime.block_on(hub_with(|limits| {
        limits.replacements_per_minute = usize::MAX;
        limits.resume_grace = Span::millis(1);
    }));
    let (is_over, ends) = (AtomicBool::new(false), AtomicUsize::new(0));
    let made: usize = thread::scope(|scope| {
        for n in 0..6u64 {
            let (hub, is_over) = (&hub, &is_over);
            // Two threads fight for each agent.
            scope.spawn(move || serve(hub, &format!("a{}", n % 3), n % 3 == 0, 77 + n, is_over));
        }
        let sweeping = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                hub.sweep(Instant::now());
                thread::yield_now();
            }
        });
        let callers: Vec<_> = (0..4u64)
            .map(|n| {
                let (hub, ends) = (&hub, &ends);
                scope.spawn(move || call(hub, 1234 + n, 10_000, ends))
            })
            .collect();
        let made = callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .sum();
        is_over.store(true, Ordering::Release);
        sweeping.join().unwrap();
        made
    });
    assert!(
        made > 1000 && ends.load(Ordering::Relaxed) > 100,
        "{made} calls, {ends:?} ends seen"
    );
    hub.sweep(Instant::now() + Duration::from_secs(1));
    assert_nothing_is_open(&hub);
    assert_eq!(hub.shared().budget.used(), 0);
    assert_eq!(metric(&hub, "jackfield_agents_online"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kept_calls_on_many_threads_all_end_and_a_turn_can_follow_at_once() {
    let hub = hub_with(|limits| limits.pending_per_agent = 1000).await;
    let (_a, line) = agent(&hub, "a");
    let is_over = Arc::new(AtomicBool::new(false));
    let serving = thread::spawn({
        let (line, is_over) = (line.clone(), is_over.clone());
        move || {
            while !is_over.load(Ordering::Acquire) {
                let Some(serving) = line.try_next() else {
                    thread::yield_now();
                    continue;
                };
                for n in 0..20 {
                    serving.push(Event::Chunk(Chunk::status(n.to_string())));
                }
                let done = jackfield_model::Done {
                    state: jackfield_model::DoneState::InputRequired,
                    ..Default::default()
                };
                serving.finish(End::Done(Box::new(done)));
            }
        }
    });
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let hub = hub.clone();
        callers.spawn(async move {
            let mut task = hub.tasks().start(to("a", "hi")).await.unwrap();
            for turn in 1..=3 {
                let items = read_on(task.subscribe(None)).await;
                assert_eq!(items.len(), 22 * turn, "turn {turn}: {items:?}");
                if turn < 3 {
                    task = hub
                        .tasks()
                        .continue_task(to("a", "more"), &task)
                        .await
                        .unwrap();
                }
            }
        });
    }
    while let Some(result) = callers.join_next().await {
        result.unwrap();
    }
    is_over.store(true, Ordering::Release);
    serving.join().unwrap();
    assert_nothing_is_open(&hub);
    assert_eq!(hub.shared().budget.used(), 0);
}

/// Starts tasks until the hub takes no more; those that were accepted.
async fn start_until_refused(hub: Hub, caller: usize) -> Vec<String> {
    let mut accepted = Vec::new();
    for n in 0..1000 {
        let text = format!("{caller}-{n}");
        let session = format!("s{}", n % 3);
        match hub
            .tasks()
            .start(in_session(&session, to("a", &text)))
            .await
        {
            Ok(_) => accepted.push(text),
            Err(failure) => {
                assert_eq!(failure.reason, Reason::Stopping);
                break;
            }
        }
    }
    accepted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_a_stop_interrupts_each_accepted_message_reaches_the_agent_once() {
    for round in 0..10 {
        let store = Arc::new(MemoryStore::default());
        let many = |limits: &mut Limits| limits.pending_per_agent = 10_000;
        let hub = hub_on(store.clone(), many).await;
        let first = Arc::new(Line {
            one_at_a_time: round % 2 == 0,
            ..Line::default()
        });
        let attached = attach(&hub, "a", &first);
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..4 {
            callers.spawn(start_until_refused(hub.clone(), caller));
        }
        while first.mail.lock().len() < 3 {
            tokio::task::yield_now().await;
        }
        hub.stop(Duration::ZERO).await;
        let mut accepted: Vec<String> = callers.join_all().await.concat();
        drop(attached);
        let mut reached = first.texts();
        let second = Line::new();
        let hub = hub_on(store, many).await;
        let _attached = attach(&hub, "a", &second);
        let patience = std::time::Instant::now() + Duration::from_secs(10);
        while reached.len() + second.mail.lock().len() < accepted.len()
            && std::time::Instant::now() < patience
        {
            tokio::task::yield_now().await;
        }
        reached.extend(second.texts());
        accepted.sort();
        reached.sort();
        assert_eq!(reached, accepted);
    }
}
