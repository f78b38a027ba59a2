//! What is cut in the middle goes on from there: by itself, or by `jackfield fetch` after the caller was killed.

use std::{fs, io::Read as _};

use jackfield_testkit::{FaultProxy, TestHub};
use rustix::process::Signal;
use serde_json::Value;

use super::{CLIENT, FIFTY, amy, assert_same, left_over, named, steps_to, workspace};
use crate::run::Cli;

fn number(step: &Value, field: &str) -> u64 {
    step[field].as_u64().unwrap_or_else(|| panic!("{step}"))
}

/// Calls for the files and kills the caller when half of them are there. The transfer.
async fn killed_at_half(cli: &Cli, via: &str) -> String {
    // Whoever is faster than the signal is asked again.
    for _ in 0..5 {
        let mut called = cli.start(&[
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
        ]);
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
    let mut called = cli.start(&[
        "call",
        "amy",
        "go",
        "--with-files",
        "--client",
        CLIENT,
        "--out",
        "got",
        "--via",
        "hub",
        "--json",
    ]);
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

#[tokio::test]
async fn a_folder_that_is_sent_ahead_goes_on_where_it_was_cut() {
    let hub = TestHub::start().await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let cli = Cli::new(&hub).at_hub(&format!("http://{}", proxy.addr()));
    let _amy = amy(&cli, "cat small.txt").await;
    let cli = cli.at_hub(&hub.url(""));
    let given = cli.home().join("given");
    fs::create_dir(&given).unwrap();
    let mut noise = Vec::new();
    let source = fs::File::open("/dev/urandom").unwrap();
    source.take(3_000_000).read_to_end(&mut noise).unwrap();
    fs::write(given.join("large.bin"), noise).unwrap();
    fs::write(given.join("small.txt"), "small").unwrap();
    // The agent's end of the archive: its next connection.
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
