//! Queue behaviour within one process. Several queues on the same folder behave like several
//! processes here.

use std::{fs, path::Path, time::Duration};

use jackfield_connect::queue::{
    MachineQueue, QueueEntry, QueueError, QueueLimits, QueueSlot, QueueTicket,
};
use jackfield_sdk::AgentFailure;
use tokio::time::timeout;

use crate::queue::SOON;

fn limits(active: usize, waiting: usize) -> QueueLimits {
    QueueLimits {
        active,
        waiting,
        ..QueueLimits::default()
    }
}

/// Takes a free slot.
async fn take_slot(queue: &MachineQueue) -> QueueSlot {
    match queue.line_up().await.unwrap() {
        QueueEntry::Place(held_slot) => held_slot,
        QueueEntry::Waiting(_) => panic!("somebody is there"),
    }
}

/// Takes a ticket while no slot is free.
async fn take_ticket(queue: &MachineQueue) -> QueueTicket {
    match queue.line_up().await.unwrap() {
        QueueEntry::Waiting(waiting) => waiting,
        QueueEntry::Place(_) => panic!("a place was free"),
    }
}

/// Waits until the ticket gets a slot.
async fn wait_for_slot(waiting: QueueTicket) -> QueueSlot {
    timeout(SOON, waiting.slot()).await.unwrap().unwrap()
}

/// Returns the waiting ticket numbers, by the files.
fn numbers(dir: &Path) -> String {
    let members = fs::read_dir(dir.join("members")).unwrap();
    let lines = members.map(|entry| entry.unwrap().path());
    let lines = lines.filter(|path| path.extension().is_some_and(|it| it == "line"));
    lines
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[tokio::test]
async fn so_many_work_at_once_and_the_next_one_comes_when_one_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let queue = MachineQueue::open(dir.path().join("deep/runtime"), limits(2, 1000)).unwrap();
    let (first, _second) = (take_slot(&queue).await, take_slot(&queue).await);
    let third = take_ticket(&queue).await;
    let fourth = take_ticket(&queue).await;
    assert_eq!((third.ahead(), fourth.ahead()), (0, 1));
    drop(first);
    let third = wait_for_slot(third).await;
    drop(third);
    wait_for_slot(fourth).await;
}

#[tokio::test]
async fn who_comes_later_does_not_pass_those_who_wait() {
    let dir = tempfile::tempdir().unwrap();
    let [here, there] = [(); 2].map(|()| MachineQueue::open(dir.path(), limits(1, 1000)).unwrap());
    let held_slot = take_slot(&here).await;
    let first = take_ticket(&there).await;
    let second = take_ticket(&here).await;
    drop(held_slot);
    // The slot is free, and the next ticket has not taken the slot.
    let third = take_ticket(&there).await;
    assert_eq!(third.ahead(), 2);
    let (second, mut third) = (second.slot(), Box::pin(third.slot()));
    tokio::pin!(second);
    let held_slot = wait_for_slot(first).await;
    tokio::select! {
        biased;
        _ = &mut second => panic!("the place is taken"),
        _ = &mut third => panic!("the place is taken"),
        () = tokio::task::yield_now() => {}
    }
    drop(held_slot);
    let held_slot = tokio::select! {
        held_slot = timeout(SOON, &mut second) => held_slot.unwrap().unwrap(),
        _ = &mut third => panic!("somebody is before it"),
    };
    drop(held_slot);
    timeout(SOON, third).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_full_line_says_so_at_once_and_has_room_again_when_one_leaves_it() {
    let dir = tempfile::tempdir().unwrap();
    let [here, there] = [(); 2].map(|()| MachineQueue::open(dir.path(), limits(1, 2)).unwrap());
    let _place = take_slot(&here).await;
    let (first, _second) = (take_ticket(&here).await, take_ticket(&there).await);
    for queue in [&here, &there] {
        let busy = queue.line_up().await.unwrap_err();
        assert!(matches!(busy, QueueError::Full(2)), "{busy}");
        assert_eq!(AgentFailure::from(busy).code, "agent_busy");
    }
    drop(first);
    take_ticket(&there).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let queue = MachineQueue::open(
        dir.path(),
        QueueLimits {
            active: 1,
            ..QueueLimits::default()
        },
    )
    .unwrap();
    let _place = take_slot(&queue).await;
    let since = tokio::time::Instant::now();
    let busy = queue.enter().await.unwrap_err();
    assert!(matches!(busy, QueueError::Late(limit) if limit == Duration::from_secs(600)));
    assert!(since.elapsed() >= Duration::from_secs(600));
    assert_eq!(AgentFailure::from(busy).code, "agent_busy");
    assert_eq!(numbers(dir.path()), "", "who gave up is not in the line");
}

#[tokio::test]
async fn who_gives_up_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let [here, there] = [(); 2].map(|()| MachineQueue::open(dir.path(), limits(1, 1000)).unwrap());
    let held_slot = take_slot(&here).await;
    let first = take_ticket(&here).await;
    let (mut waits, next) = (Box::pin(first.slot()), take_ticket(&there).await);
    tokio::select! {
        biased;
        _ = &mut waits => panic!("the place is taken"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(numbers(dir.path()).lines().count(), 2);
    drop(waits);
    assert_eq!(numbers(dir.path()).lines().count(), 1);
    drop(held_slot);
    wait_for_slot(next).await;
    assert_eq!(numbers(dir.path()), "");
}

#[tokio::test]
async fn who_ends_well_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let queue = MachineQueue::open(dir.path(), limits(1, 1000)).unwrap();
    let held_slot = take_slot(&queue).await;
    let waiting = take_ticket(&queue).await;
    let members = || fs::read_dir(dir.path().join("members")).unwrap().count();
    assert_eq!(members(), 2, "it is a member, with a line");
    drop((held_slot, waiting, queue));
    assert_eq!(members(), 0);
}

#[tokio::test]
async fn a_place_that_comes_for_somebody_who_gave_up_goes_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let queue = MachineQueue::open(dir.path(), limits(1, 1000)).unwrap();
    for _ in 0..50 {
        let held_slot = take_slot(&queue).await;
        let (first, next) = (take_ticket(&queue).await, take_ticket(&queue).await);
        let mut first = Box::pin(first.slot());
        drop(held_slot);
        // The ticket is dropped while its check runs on another thread.
        tokio::select! {
            biased;
            taken = &mut first => drop(taken.unwrap()),
            () = tokio::task::yield_now() => {}
        }
        drop(first);
        wait_for_slot(next).await;
    }
}

#[tokio::test]
async fn a_machine_that_lost_power_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let queue = MachineQueue::open(dir.path(), limits(1, 1000)).unwrap();
    for (file, text) in [
        ("members/7", ""),
        ("members/7.line", "1\n2\n"),
        ("number", ""),
    ] {
        fs::write(dir.path().join(file), text).unwrap();
    }
    let held_slot = take_slot(&queue).await;
    assert_eq!(take_ticket(&queue).await.ahead(), 0);
    assert!(!dir.path().join("members/7.line").exists());
    drop(held_slot);
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_said_to_be_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    MachineQueue::open(&file, QueueLimits::default()).unwrap_err();
    let queue = MachineQueue::open(dir.path().join("gone"), QueueLimits::default()).unwrap();
    fs::remove_dir_all(dir.path().join("gone")).unwrap();
    let busy = queue.enter().await.unwrap_err();
    assert_eq!(AgentFailure::from(busy).code, "internal_error");
}
