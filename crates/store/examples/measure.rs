//! measure
#![allow(clippy::unwrap_used)]
use jackfield_core::{
    event::{Event, Message},
    id::*,
    store::*,
};
use jackfield_store::SqliteStore;
use jiff::Timestamp;
use std::{path::Path, sync::Arc, time::Instant};

fn task() -> TaskRecord {
    let call = CallId::new();
    TaskRecord {
        id: call.into(),
        call,
        principal: "ann".into(),
        caller: "ann".into(),
        door: "own".into(),
        agent: AgentId::parse("worker").unwrap(),
        session: SessionId::parse(&call.to_string()).unwrap(),
        request: RequestId::parse("r1").unwrap(),
        state: TaskState::Working,
        sent: false,
        epoch: 1,
        log_end: 0,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
        wait_until: None,
        failure: None,
    }
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(") ").next().unwrap().split(' ').collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}
fn wrote() -> u64 {
    let s = std::fs::read_to_string("/proc/self/io").unwrap();
    s.lines()
        .find(|l| l.starts_with("wchar"))
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let store: Arc<dyn Store> = if std::env::var_os("MEM").is_some() { Arc::new(memory::MemoryStore::default()) } else { Arc::new(SqliteStore::open(Path::new(&dir)).unwrap()) };
    let tasks: Vec<TaskRecord> = (0..64).map(|_| task()).collect();
    for t in &tasks {
        store.save_task(t.clone(), vec![], false);
    }
    let text = "x".repeat(100);
    // appends, each task waits for a window of 64
    if std::env::var_os("PACED").is_none() {
        for (label, total, window) in [
            ("append window 1024", 2_000_000u64, 1024usize),
            ("append window 64", 400_000, 64),
        ] {
            let (c, w, t0) = (cpu(), wrote(), Instant::now());
            rt.block_on(async {
                let mut set = tokio::task::JoinSet::new();
                for t in &tasks {
                    let store = store.clone();
                    let id = t.id;
                    let text = text.clone();
                    let from = store.find_task(id).await.unwrap().unwrap().log_end;
                    set.spawn(async move {
                        let mut pos = from;
                        let mut q = std::collections::VecDeque::new();
                        for _ in 0..total / 64 {
                            q.push_back(store.append(
                                id,
                                vec![LogRow {
                                    pos,
                                    seq: None,
                                    item: LogItem::Event(Event::text(text.clone())),
                                }],
                            ));
                            pos += 100;
                            if q.len() >= window {
                                q.pop_front().unwrap().await.unwrap();
                            }
                        }
                        for r in q {
                            r.await.unwrap();
                        }
                    });
                }
                set.join_all().await;
            });
            let s = t0.elapsed().as_secs_f64();
            println!(
                "{label}: {:.0}/s, cpu {:.2} us each, written {:.2} x the text",
                total as f64 / s,
                (cpu() - c) * 1e6 / total as f64,
                (wrote() - w) as f64 / (total * 100) as f64
            );
        }
    }
    // paced: 64 tasks at 60 chunks/s of 20 bytes, for 5 s
    {
        let (c, w, t0) = (cpu(), wrote(), Instant::now());
        rt.block_on(async {
            let mut set = tokio::task::JoinSet::new();
            for (n, t) in tasks.iter().enumerate() {
                let store = store.clone();
                let id = t.id;
                let from = store.find_task(id).await.unwrap().unwrap().log_end;
                set.spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_micros(260 * n as u64)).await;
                    let mut tick = tokio::time::interval(std::time::Duration::from_micros(16_666));
                    let mut pos = from;
                    for _ in 0..300 {
                        tick.tick().await;
                        drop(store.append(
                            id,
                            vec![LogRow {
                                pos,
                                seq: None,
                                item: LogItem::Event(Event::text("twenty bytes of text")),
                            }],
                        ));
                        pos += 20;
                    }
                });
            }
            set.join_all().await;
            store.find_task(tasks[0].id).await.unwrap();
        });
        let n = 64.0 * 300.0;
        println!(
            "paced 64 x 60/s of 20 B: {:.0}/s, cpu {:.2} us each, {:.1} MB/s written ({:.0} x)",
            n / t0.elapsed().as_secs_f64(),
            (cpu() - c) * 1e6 / n,
            (wrote() - w) as f64 / 1e6 / t0.elapsed().as_secs_f64(),
            (wrote() - w) as f64 / (n * 20.0)
        );
    }
    if std::env::var_os("PACED").is_some() {
        return;
    }
    for (label, conc, per, existing) in [
        (
            "durable save_task new, 64 at once",
            64usize,
            300usize,
            false,
        ),
        ("durable save_task same task, 64 at once", 64, 300, true),
        ("durable save_task, 1 at a time", 1, 500, false),
    ] {
        let (c, t0) = (cpu(), Instant::now());
        rt.block_on(async {
            let mut set = tokio::task::JoinSet::new();
            for _ in 0..conc {
                let store = store.clone();
                set.spawn(async move {
                    let mut t = task();
                    for n in 0..per {
                        if !existing || n == 0 {
                            t = task();
                        }
                        t.updated_at = Timestamp::now();
                        let rows = if existing && n > 0 {
                            vec![]
                        } else {
                            vec![LogRow {
                                pos: 0,
                                seq: None,
                                item: LogItem::Message(Message::text("x".repeat(200))),
                            }]
                        };
                        store.save_task(t.clone(), rows, true).await.unwrap();
                    }
                });
            }
            set.join_all().await;
        });
        let n = (conc * per) as f64;
        println!(
            "{label}: {:.0}/s, cpu {:.1} us each",
            n / t0.elapsed().as_secs_f64(),
            (cpu() - c) * 1e6 / n
        );
    }
    let t0 = Instant::now();
    let mut pos = 0;
    let mut n = 0;
    loop {
        let rows = store.read_log(tasks[0].id, pos, 256 << 10).wait().unwrap();
        let Some(l) = rows.last() else { break };
        pos = l.pos + l.item.advance();
        n += rows.len();
    }
    println!(
        "read_log: {pos} bytes in {n} rows, {:.0} MB/s",
        pos as f64 / 1e6 / t0.elapsed().as_secs_f64()
    );
    let (c, t0) = (cpu(), Instant::now());
    for _ in 0..20000 {
        store.find_task(tasks[0].id).wait().unwrap();
    }
    println!(
        "find_task one by one: {:.1} us, cpu {:.1}",
        t0.elapsed().as_secs_f64() * 1e6 / 20000.0,
        (cpu() - c) * 1e6 / 20000.0
    );
    let t0 = Instant::now();
    store.trim(Timestamp::MAX, 0).wait().unwrap();
    println!("trim all: {:?}", t0.elapsed());
}
