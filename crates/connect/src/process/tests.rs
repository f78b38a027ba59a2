//! Real programs, which end, crash, stay, print what they like and start others.

use tokio::io::AsyncWriteExt as _;

use super::*;
use crate::lines::TextReader;

fn shell(script: &str) -> CommandSpec {
    CommandSpec {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        dir: env::temp_dir(),
        ..CommandSpec::default()
    }
}

fn start(script: &str, reaper: &Reaper) -> ChildProcess {
    ChildProcess::start(&shell(script), reaper).unwrap()
}

async fn printed(process: &mut ChildProcess) -> String {
    let mut pieces = TextReader::new(process.stdout.take().unwrap());
    let mut all = String::new();
    while let Some(piece) = pieces.next().await.unwrap() {
        all += &piece;
    }
    all
}

/// Whether a process is there and not merely waiting to be fetched by whoever started it.
fn runs(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        Ok(stat) => stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| !rest.starts_with('Z')),
        Err(_) => false,
    }
}

#[tokio::test]
async fn what_it_reads_it_can_print_and_its_end_is_known() {
    let reaper = Reaper::new();
    let mut process = start("cat; exit 3", &reaper);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all("gr\u{fc}n".as_bytes()).await.unwrap();
    drop(stdin);
    assert_eq!(printed(&mut process).await, "gr\u{fc}n");
    assert_eq!(process.exit().await.code, Some(3));
    reaper.finish().await;
}

#[tokio::test]
async fn a_crash_is_told_with_what_it_complained_about() {
    let reaper = Reaper::new();
    let mut process = start("echo one >&2; echo no key >&2; exit 7", &reaper);
    let failure = process.crash("the agent").await;
    assert_eq!(failure.code, "adapter_crash");
    assert_eq!(
        failure.message,
        "the agent ended with exit code 7: one\nno key"
    );
    let mut process = start("kill -9 $$", &reaper);
    let failure = process.crash("the agent").await;
    assert_eq!(failure.message, "the agent ended with signal 9");
}

#[tokio::test]
async fn complaints_are_read_as_they_come_if_somebody_wants_them() {
    let reaper = Reaper::new();
    let spec = CommandSpec {
        complaints: true,
        ..shell("echo one >&2; echo two >&2")
    };
    let mut process = ChildProcess::start(&spec, &reaper).unwrap();
    assert_eq!(process.next_stderr_line().await.as_deref(), Some("one"));
    assert_eq!(process.next_stderr_line().await.as_deref(), Some("two"));
    assert_eq!(process.next_stderr_line().await, None);
}

#[tokio::test]
async fn a_program_that_complains_a_lot_does_not_wait_for_anybody() {
    let reaper = Reaper::new();
    let process = start(
        "head -c 1000000 /dev/zero | tr '\\0' 'x' >&2; yes x | head -n 100000 >&2",
        &reaper,
    );
    assert!(process.exit().await.is_success());
}

#[tokio::test]
async fn dropping_it_ends_its_children_too() {
    let reaper = Reaper::new();
    let mut process = start("sleep 1000 & echo $!; echo $$; wait", &reaper);
    let mut lines = LineReader::new(process.stdout.take().unwrap());
    let mut pids = Vec::new();
    for _ in 0..2 {
        match lines.next().await.unwrap() {
            Some(OutputLine::Text(pid)) => pids.push(pid),
            other => panic!("{other:?}"),
        }
    }
    assert!(pids.iter().all(|pid| runs(pid)));
    drop(process);
    reaper.finish().await;
    assert!(!pids.iter().any(|pid| runs(pid)), "{pids:?}");
}

#[tokio::test]
async fn who_does_not_want_to_end_is_killed() {
    let reaper = Reaper::new();
    let mut process = start("trap '' TERM; echo $$; while :; do sleep 1; done", &reaper);
    let mut lines = LineReader::new(process.stdout.take().unwrap());
    let Some(OutputLine::Text(pid)) = lines.next().await.unwrap() else {
        panic!("no pid")
    };
    drop(process);
    reaper.kill().await;
    assert!(!runs(&pid));
}

#[tokio::test]
async fn children_that_outlive_a_program_are_ended_and_its_output_ends() {
    let reaper = Reaper::new();
    let mut process = start("sleep 1000 & echo $!; exit 0", &reaper);
    let pid = printed(&mut process).await;
    assert!(process.exit().await.is_success());
    drop(process);
    reaper.finish().await;
    assert!(!runs(&pid));
}

#[tokio::test]
async fn who_left_the_group_does_not_hold_the_output_open_for_ever() {
    let reaper = Reaper::new();
    let mut process = start("setsid sleep 1000 & echo $!; exit 0", &reaper);
    let pid = printed(&mut process).await;
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    reaper.finish().await;
}

#[tokio::test]
async fn it_finds_what_is_passed_on_and_nothing_else() {
    let reaper = Reaper::new();
    let spec = CommandSpec {
        env: vec![("JACKFIELD_CALL".to_owned(), "c1".to_owned())],
        ..shell("echo \"$JACKFIELD_CALL|$CARGO_PKG_NAME|$PATH\"")
    };
    let mut process = ChildProcess::start(&spec, &reaper).unwrap();
    let path = env::var("PATH").unwrap();
    assert_eq!(printed(&mut process).await, format!("c1||{path}\n"));
    let spec = CommandSpec {
        pass: vec!["CARGO_PKG_NAME".to_owned()],
        ..shell("echo $CARGO_PKG_NAME")
    };
    let mut process = ChildProcess::start(&spec, &reaper).unwrap();
    assert_eq!(printed(&mut process).await, "jackfield-connect\n");
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let spec = CommandSpec {
        program: "/nowhere/agent".to_owned(),
        ..shell("")
    };
    let failure = ChildProcess::start(&spec, &Reaper::new()).unwrap_err();
    assert_eq!(failure.code, "adapter_crash");
    assert!(
        failure.message.contains("no program \"/nowhere/agent\""),
        "{failure}"
    );
}

#[test]
fn programs_are_found_by_the_search_path_or_their_own() {
    assert!(locate("sh").unwrap().is_absolute());
    assert_eq!(locate("/bin/sh").as_deref(), Some(Path::new("/bin/sh")));
    for missing in ["no-such-program", "./sh", "/bin", "", "/etc/passwd"] {
        assert_eq!(locate(missing), None, "{missing}");
    }
}

#[test]
fn only_the_end_of_complaints_is_kept() {
    let mut tail = StderrTail::default();
    for number in 0..10_000 {
        tail.push(&format!("\u{e4} {number}"));
    }
    let text = tail.text();
    assert!(text.len() <= TAIL && text.ends_with("\u{e4} 9999"));
}
