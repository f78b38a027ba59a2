//! Queue behaviour among several processes that may be killed at any time.

use std::{
    io::{BufRead as _, BufReader, Write as _, stdin},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
};

use jackfield_connect::queue::{MachineQueue, QueueEntry, QueueLimits};
use tokio::time::timeout;

use crate::queue::SOON;

/// Environment variable with the queue's folder for child processes.
const DIR: &str = "JACKFIELD_TEST_QUEUE";

fn limits() -> QueueLimits {
    QueueLimits {
        active: 2,
        ..QueueLimits::default()
    }
}

/// The program of the child processes, not a test by itself. It runs commands from standard input and prints the
/// results.
#[test]
fn another_process() {
    let Ok(dir) = std::env::var(DIR) else {
        return;
    };
    let queue = MachineQueue::open(dir, limits()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut slots = Vec::new();
    for line in stdin().lines() {
        match line.unwrap().as_str() {
            "enter" => {
                let entry = runtime.block_on(queue.line_up()).unwrap();
                slots.push(match entry {
                    QueueEntry::Place(taken) => taken,
                    QueueEntry::Waiting(waiting) => {
                        println!("@waiting");
                        runtime.block_on(waiting.slot()).unwrap()
                    }
                });
                println!("@in");
            }
            "leave" => drop(slots.remove(0)),
            other => panic!("{other}"),
        }
    }
}

/// A child process.
struct QueueProcess {
    child: Child,
    stdin: ChildStdin,
    /// Lines of the child's standard output.
    output: mpsc::Receiver<String>,
}

impl QueueProcess {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "queue::processes::another_process",
                "--nocapture",
            ])
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = mpsc::channel();
        // Reads on a separate thread so the test can time out. The thread ends with the process.
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                sender.send(line).ok();
            }
        });
        Self {
            child,
            stdin,
            output,
        }
    }

    fn send_order(&mut self, order: &str) {
        writeln!(self.stdin, "{order}").unwrap();
    }

    /// Waits until the child prints this word, ignoring output of the test harness.
    fn expect_word(&mut self, word: &str) {
        loop {
            let line = self.output.recv_timeout(SOON).expect("it says something");
            // The harness may have begun the line.
            if let Some((_, output)) = line.split_once('@') {
                assert_eq!(output.trim(), word);
                return;
            }
        }
    }

    fn enter(&mut self, word: &str) {
        self.send_order("enter");
        self.expect_word(word);
    }

    /// Kills the child like `kill -9`.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for QueueProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn places_of_a_killed_process_are_free_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = QueueProcess::start(dir.path());
    other.enter("in");
    other.enter("in");
    let queue = MachineQueue::open(dir.path(), limits()).unwrap();
    let QueueEntry::Waiting(waiting) = queue.line_up().await.unwrap() else {
        panic!("the other process has both places");
    };
    other.kill();
    let first = timeout(SOON, waiting.slot()).await.unwrap().unwrap();
    let QueueEntry::Place(second) = queue.line_up().await.unwrap() else {
        panic!("the other process had two places");
    };
    drop((first, second));
}

#[test]
fn processes_come_in_the_order_in_which_they_lined_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = QueueProcess::start(dir.path());
    holder.enter("in");
    holder.enter("in");
    let mut waiting: Vec<_> = (0..4).map(|_| QueueProcess::start(dir.path())).collect();
    for other in &mut waiting {
        other.enter("waiting");
    }
    // The slot passes from each holder to the next. With a different order the test would hang.
    holder.send_order("leave");
    for other in &mut waiting {
        other.expect_word("in");
        other.send_order("leave");
    }
}

#[test]
fn nobody_waits_for_a_killed_process_that_waited() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = QueueProcess::start(dir.path());
    holder.enter("in");
    holder.enter("in");
    let [mut first, mut second, mut third] = [(); 3].map(|()| QueueProcess::start(dir.path()));
    for other in [&mut first, &mut second, &mut third] {
        other.enter("waiting");
    }
    first.kill();
    holder.send_order("leave");
    second.expect_word("in");
    second.kill();
    third.expect_word("in");
}
