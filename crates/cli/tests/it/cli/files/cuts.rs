//! Interrupted transfers resume: automatically, or by `jackfield fetch` after the caller was killed.

use std::{fs, io::Read as _, path::PathBuf};

use jackfield_testkit::{FaultProxy, SOON, TestHub};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{CLIENT, FIFTY, amy, assert_same, left_over, named, steps_to, workspace};
use crate::run::{Cli, Running};

fn number(step: &Value, field: &str) -> u64 {
    step[field].as_u64().unwrap_or_else(|| panic!("{step}"))
}

/// Calls `amy` for files.
fn call_for_files(cli: &Cli, via: &str) -> Running {
    cli.start(&[
        "call",
        "amy",
        "go",
        "--with-files",
        "--client",
        CLIENT,
        "--out",
        "got",
        "--via",
        via,
        "--json",
    ])
}

/// Calls for the files and kills the caller halfway. Returns the transfer id.
async fn killed_at_half(cli: &Cli, via: &str) -> String {
    // Retries if the transfer ends before the signal.
    for _ in 0..5 {
        let mut called = call_for_files(cli, via);
        let transfer = loop {
            let steps = steps_to(&mut called, "progress").await;
            let step = steps.last().unwrap();
            if number(step, "received") * 2 > number(step, "size") {
                break step["transfer"].as_str().unwrap().to_owned();
            }
        };
        called.signal(Signal::KILL);
        if !called.end().await.out.contains("\"done\"") {
            return transfer;
        }
        fs::remove_dir_all(cli.home().join("got")).unwrap();
    }
    panic!("nobody can be killed in the middle");
}

async fn goes_on_after_a_kill(via: &str, tried: &str) {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, FIFTY).await;
    let transfer = killed_at_half(&cli, via).await;
    let got = cli.home().join("got");
    assert!(!got.exists(), "nothing partial");
    let listed = cli.run(&["fetch", "--json"]).await.ok().json();
    assert_eq!(listed["transfers"][0]["transfer"], *transfer);
    let before = number(&listed["transfers"][0], "received");
    assert!(before > 20_000_000, "{listed}");
    let mut fetch = cli.start(&["fetch", &transfer, "--via", via, "--json"]);
    let steps = steps_to(&mut fetch, "done").await;
    let begins: Vec<_> = named(&steps, "begin").collect();
    assert_eq!(number(begins[0], "received"), before, "{steps:?}");
    assert_eq!(begins[0]["via"], tried);
    let mut moved = named(&steps, "progress").map(|step| number(step, "received"));
    assert!(moved.all(|received| received >= before), "{steps:?}");
    fetch.end().await.ok();
    assert_same(&got, &workspace(&cli));
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

#[tokio::test]
async fn by_webrtc_fetch_goes_on_where_a_killed_caller_was() {
    goes_on_after_a_kill("direct", "direct").await;
}

#[tokio::test]
async fn through_the_hub_fetch_goes_on_where_a_killed_caller_was() {
    goes_on_after_a_kill("hub", "hub").await;
}

#[tokio::test]
async fn what_is_cut_on_its_way_through_the_hub_goes_on_by_itself() {
    let hub = TestHub::start().await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, FIFTY).await;
    let cli = cli.at_hub(&format!("http://{}", proxy.addr()));
    // Only the archive is that long.
    proxy.cut_next_after([30_000_000; 8]);
    let mut called = call_for_files(&cli, "hub");
    let steps = steps_to(&mut called, "done").await;
    called.end().await.ok();
    let begins: Vec<_> = named(&steps, "begin")
        .map(|step| number(step, "received"))
        .collect();
    assert_eq!((begins.len(), begins[0]), (2, 0), "{steps:?}");
    assert!(begins[1] > 20_000_000, "{steps:?}");
    assert_eq!(named(&steps, "cut").count(), 1, "{steps:?}");
    assert_same(&cli.home().join("got"), &workspace(&cli));
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

/// Stops an agent during a transfer, and continues it once the caller reports a cut channel. To the caller this looks
/// like a lost network. Returns the steps up to the last.
async fn stopped_in_the_middle(agent: &Running, called: &mut Running, last: &str) -> Vec<Value> {
    let mut steps = Vec::new();
    loop {
        steps.extend(steps_to(called, "progress").await);
        let step = steps.last().unwrap();
        assert!(number(step, "received") < number(step, "size"), "too fast");
        if number(step, "received") > 10_000_000 {
            break;
        }
    }
    agent.signal(Signal::STOP);
    // A direct connection counts as lost after several failed checks, which takes nearly as long.
    called.patience = 3 * SOON;
    steps.extend(steps_to(called, "cut").await);
    agent.signal(Signal::CONT);
    steps.extend(steps_to(called, last).await);
    steps
}

/// Checks that there were two attempts by WebRTC, and that the second sent no byte again.
fn assert_went_on(steps: &[Value]) {
    let begins: Vec<_> = named(steps, "begin").collect();
    assert_eq!(begins.len(), 2, "{steps:?}");
    assert!(
        begins.iter().all(|step| step["via"] == "direct"),
        "{steps:?}"
    );
    let cut = named(steps, "cut").next().unwrap();
    assert!(number(cut, "received") > 10_000_000, "{steps:?}");
    let before = number(begins[1], "received");
    // Bytes in the sender's channel have not all arrived.
    assert!(before > 5_000_000, "{steps:?}");
    let second = steps.iter().skip_while(|step| *step != begins[1]);
    let second: Vec<_> = second.cloned().collect();
    let mut moved = named(&second, "progress").map(|step| number(step, "received"));
    assert!(moved.all(|received| received >= before), "{steps:?}");
}

#[tokio::test]
async fn a_webrtc_channel_that_is_cut_is_followed_by_another_that_goes_on() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let amy = amy(&cli, FIFTY).await;
    let mut called = call_for_files(&cli, "direct");
    let steps = stopped_in_the_middle(&amy, &mut called, "done").await;
    assert_went_on(&steps);
    called.end().await.ok();
    assert_same(&cli.home().join("got"), &workspace(&cli));
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

#[tokio::test]
async fn a_folder_whose_webrtc_channel_is_cut_goes_on_over_another() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let amy = amy(&cli, "cat small.txt").await;
    let given = folder_to_give(&cli, 50_000_000);
    let mut called = cli.start(&[
        "call", "amy", "go", "--client", CLIENT, "--upload", "given", "--via", "direct", "--json",
    ]);
    let steps = stopped_in_the_middle(&amy, &mut called, "sent").await;
    assert_went_on(&steps);
    called.end().await.ok();
    assert_same(&given, &workspace(&cli));
}

/// A folder of two files, one of them with this many incompressible bytes.
fn folder_to_give(cli: &Cli, bytes: u64) -> PathBuf {
    let given = cli.home().join("given");
    fs::create_dir(&given).unwrap();
    let mut noise = Vec::new();
    let source = fs::File::open("/dev/urandom").unwrap();
    source.take(bytes).read_to_end(&mut noise).unwrap();
    fs::write(given.join("large.bin"), noise).unwrap();
    fs::write(given.join("small.txt"), "small").unwrap();
    given
}

#[tokio::test]
async fn a_late_report_about_an_earlier_attempt_does_not_make_an_upload_start_over() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    folder_to_give(&cli, 1_000);
    let mut called = cli.start(&[
        "call", "eve", "go", "--client", CLIENT, "--upload", "given", "--via", "hub", "--json",
    ]);
    let announced = eve.frame().await;
    for (kind, payload) in [
        ("interrupted", json!({"reason": "cut"})),
        ("prepared", json!({"received": 100})),
    ] {
        let signal = json!({
            "type": "rtc_signal", "transfer_id": announced["transfer_id"], "target_agent_id": announced["from_agent_id"],
            "signal_type": kind, "payload": payload.to_string(),
        });
        eve.send(signal).await;
    }
    let steps = steps_to(&mut called, "begin").await;
    let begin = steps.last().unwrap();
    assert_eq!(number(begin, "received"), 100, "{steps:?}");
    called.signal(Signal::KILL);
    called.end().await;
}

#[tokio::test]
async fn a_folder_that_is_sent_ahead_goes_on_where_it_was_cut() {
    let hub = TestHub::start().await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let cli = Cli::new(&hub).at_hub(&format!("http://{}", proxy.addr()));
    let _amy = amy(&cli, "cat small.txt").await;
    let cli = cli.at_hub(&hub.url(""));
    let given = folder_to_give(&cli, 3_000_000);
    // The agent's connection for the archive is its next one.
    proxy.cut_next_after([1_000_000]);
    let mut called = cli.start(&[
        "call", "amy", "go", "--client", CLIENT, "--upload", "given", "--via", "hub", "--json",
    ]);
    let steps = steps_to(&mut called, "sent").await;
    let begins: Vec<_> = named(&steps, "begin")
        .map(|step| number(step, "received"))
        .collect();
    assert_eq!((begins.len(), begins[0]), (2, 0), "{steps:?}");
    assert!(begins[1] > 500_000, "{steps:?}");
    called.end().await.ok();
    assert_same(&given, &workspace(&cli));
}
