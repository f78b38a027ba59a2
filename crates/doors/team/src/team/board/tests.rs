//! Boards as their owners and members use and misuse them.

use proptest::prelude::*;

use super::*;

const MEMBERS: [&str; 3] = ["lead", "dev", "backend/db/dba"];

fn members(name: &str) -> bool {
    MEMBERS.contains(&name)
}

fn now() -> Timestamp {
    "2026-03-01T10:00:00Z".parse().unwrap()
}

fn board() -> TaskBoard {
    TaskBoard::new(Vec::new(), 10)
}

fn task(name: &str, after: &[&str]) -> NewTask {
    NewTask {
        name: name.into(),
        assignee: "dev".into(),
        description: format!("do {name}"),
        dependencies: texts(after),
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn add(board: &mut TaskBoard, new: Vec<NewTask>) -> Result<BoardChange, Failure> {
    board.add(new, &members)
}

fn change(
    board: &mut TaskBoard,
    which: &str,
    change: TaskChange,
) -> Result<(BoardTask, Vec<BoardChange>), Failure> {
    board.change(which, change, "dev", now(), &members)
}

fn status(status: BoardStatus) -> TaskChange {
    TaskChange {
        status: Some(status),
        ..TaskChange::default()
    }
}

fn after(names: &[&str]) -> TaskChange {
    TaskChange {
        dependencies: Some(texts(names)),
        ..TaskChange::default()
    }
}

fn file(path: &str, summary: &str) -> NewDeliverable {
    NewDeliverable {
        file_path: path.into(),
        summary: summary.into(),
    }
}

/// A board on which `scan` comes before `report`.
fn scan_and_report() -> TaskBoard {
    let mut board = board();
    let tasks = vec![task("scan", &[]), task("report", &["scan"])];
    add(&mut board, tasks).unwrap();
    board
}

fn ids(tasks: &[BoardTask]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

#[test]
fn statuses_read_back_from_their_names_as_json_has_them() {
    for name in [
        "not_started",
        "queued",
        "in_progress",
        "completed",
        "blocked",
        "failed",
    ] {
        let status = BoardStatus::from_name(name).unwrap();
        assert_eq!(status.name(), name);
        assert_eq!(serde_json::to_string(&status).unwrap(), format!("{name:?}"));
    }
    assert_eq!(BoardStatus::from_name("done"), None);
}

#[test]
fn tasks_are_numbered_and_dependencies_become_ids() {
    let mut board = scan_and_report();
    // A name and an id, of before and of the same call, ahead of it too; the same one twice counts once.
    let new = vec![
        task("publish", &["check", "report", "task_0002"]),
        task("check", &["task_0001", "scan"]),
        NewTask {
            assignee: "backend/db/dba".into(),
            ..task("migrate", &["task_0003"])
        },
    ];
    let BoardChange::Created { added, all } = add(&mut board, new).unwrap() else {
        panic!("tasks were added");
    };
    assert_eq!(ids(&added), ["task_0003", "task_0004", "task_0005"]);
    assert_eq!(
        ids(&all),
        [
            "task_0001",
            "task_0002",
            "task_0003",
            "task_0004",
            "task_0005"
        ]
    );
    assert_eq!(all, board.tasks());
    assert_eq!(all[1].dependencies, ["task_0001"]);
    assert_eq!(added[0].dependencies, ["task_0004", "task_0002"]);
    assert_eq!(added[1].dependencies, ["task_0001"]);
    assert_eq!(added[2].dependencies, ["task_0003"]);
    assert_eq!(
        added[1],
        BoardTask {
            id: "task_0004".into(),
            name: "check".into(),
            assignee: "dev".into(),
            description: "do check".into(),
            dependencies: vec!["task_0001".into()],
            status: BoardStatus::NotStarted,
            deliverables: Vec::new(),
        }
    );
}

#[test]
fn ids_go_on_after_the_highest_one_that_was_ever_given() {
    let mut first = scan_and_report();
    add(&mut first, vec![task("a", &[])]).unwrap();
    // After a restart, with a gap and out of order.
    let mut kept = first.tasks().to_vec();
    kept.remove(1);
    kept.reverse();
    let mut board = TaskBoard::new(kept, 10);
    add(&mut board, vec![task("b", &[])]).unwrap();
    assert_eq!(ids(&board.tasks()), ["task_0003", "task_0001", "task_0004"]);
    // What was refused takes no number along.
    add(&mut board, vec![task("c", &[]), task("d", &["nobody"])]).unwrap_err();
    add(&mut board, vec![task("e", &[])]).unwrap();
    assert_eq!(board.tasks()[3].id, "task_0005");

    let many = BoardTask {
        id: "task_9999".into(),
        ..board.tasks()[0].clone()
    };
    let mut board = TaskBoard::new(vec![many], 10);
    add(&mut board, vec![task("f", &["task_9999"])]).unwrap();
    assert_eq!(ids(&board.tasks()), ["task_9999", "task_10000"]);
}

#[test]
fn bad_tasks_are_refused_by_field_and_none_of_their_call_is_added() {
    let long = "x".repeat(TEXT_MAX + 1);
    let cases = [
        (vec![], "tasks"),
        (vec![task("a", &[]), task("", &[])], "tasks[1].task_name"),
        (vec![task(" \n", &[])], "tasks[0].task_name"),
        (vec![task(&long, &[])], "tasks[0].task_name"),
        (
            vec![task("a", &[]), task("b", &[]), task("a", &[])],
            "tasks[2].task_name",
        ),
        (
            vec![task("a", &[]), task("scan", &[])],
            "tasks[1].task_name",
        ),
        (
            vec![NewTask {
                assignee: "stranger".into(),
                ..task("a", &[])
            }],
            "tasks[0].assignee_name",
        ),
        (
            vec![NewTask {
                assignee: String::new(),
                ..task("a", &[])
            }],
            "tasks[0].assignee_name",
        ),
        (
            vec![NewTask {
                description: long.clone(),
                ..task("a", &[])
            }],
            "tasks[0].description",
        ),
        (
            vec![task("a", &[]), task("b", &["a", "scan", "task_0009"])],
            "tasks[1].dependencies[2]",
        ),
        (vec![task("a", &[""])], "tasks[0].dependencies[0]"),
        (vec![task("a", &["scan", "a"])], "tasks[0].dependencies[1]"),
        // By the id that it would get.
        (vec![task("a", &["task_0003"])], "tasks[0].dependencies[0]"),
        (
            vec![task("a", &["b"]), task("b", &["a"])],
            "tasks[0].dependencies[0]",
        ),
        (
            vec![
                task("end", &["a"]),
                task("a", &["scan", "scan", "b"]),
                task("b", &["report", "c"]),
                task("c", &["a", "scan"]),
            ],
            "tasks[1].dependencies[2]",
        ),
    ];
    for (new, field) in cases {
        let mut board = scan_and_report();
        let before = board.tasks();
        let failure = add(&mut board, new).unwrap_err();
        assert_eq!(failure.reason, Reason::Invalid, "{failure}");
        let said = format!("field {field:?} ");
        assert!(failure.text.starts_with(&said), "{failure}, not {field}");
        assert!(failure.text.len() < 1000, "{}", failure.text.len());
        assert_eq!(board.tasks(), before);
    }
}

#[test]
fn a_board_takes_so_many_tasks_and_so_many_bytes() {
    let mut board = TaskBoard::new(Vec::new(), 2);
    let three = vec![task("a", &[]), task("b", &[]), task("c", &[])];
    assert_eq!(add(&mut board, three).unwrap_err().reason, Reason::Busy);
    add(&mut board, vec![task("a", &[]), task("b", &[])]).unwrap();
    let more = add(&mut board, vec![task("c", &[])]);
    assert_eq!(more.unwrap_err().reason, Reason::Busy);

    let heavy = |name: String| NewTask {
        description: "x".repeat(TEXT_MAX),
        ..task(&name, &[])
    };
    let mut board = TaskBoard::new(Vec::new(), 1000);
    let most = (0..63).map(|n| heavy(n.to_string())).collect();
    add(&mut board, most).unwrap();
    let before = board.tasks();
    let more = add(&mut board, vec![heavy("last".into())]);
    assert_eq!(more.unwrap_err().reason, Reason::Busy);
    let files = TaskChange {
        deliverables: vec![file("a", &"x".repeat(TEXT_MAX))],
        ..TaskChange::default()
    };
    let more = change(&mut board, "0", files);
    assert_eq!(more.unwrap_err().reason, Reason::Busy);
    assert_eq!(board.tasks(), before);

    // One that was full before the limit was lower can still be worked on and made lighter.
    let mut tasks = before.to_vec();
    let more = tasks.iter().map(|task| BoardTask {
        id: format!("{}0", task.id),
        ..task.clone()
    });
    tasks.extend(more.collect::<Vec<_>>());
    let mut board = TaskBoard::new(tasks, 1000);
    change(&mut board, "0", status(BoardStatus::Completed)).unwrap();
    let short = TaskChange {
        description: Some("short".into()),
        ..TaskChange::default()
    };
    change(&mut board, "0", short).unwrap();
}

#[test]
fn a_status_is_set_by_id_or_name_and_shown_with_what_it_gave() {
    let mut board = scan_and_report();
    let (task, shown) = change(&mut board, "task_0001", status(BoardStatus::InProgress)).unwrap();
    assert_eq!(task.status, BoardStatus::InProgress);
    assert_eq!(
        shown,
        [BoardChange::Status {
            task: "task_0001".into(),
            new: BoardStatus::InProgress,
            by: "dev".into(),
            deliverables: Vec::new(),
        }]
    );
    let done = TaskChange {
        deliverables: vec![file("a.md", "notes")],
        ..status(BoardStatus::Completed)
    };
    let notes = BoardDeliverable {
        file_path: "a.md".into(),
        summary: "notes".into(),
        author_agent_name: "dev".into(),
        timestamp: now(),
    };
    let (task, shown) = change(&mut board, "scan", done).unwrap();
    assert_eq!(task.deliverables, std::slice::from_ref(&notes));
    assert_eq!(
        shown,
        [BoardChange::Status {
            task: "task_0001".into(),
            new: BoardStatus::Completed,
            by: "dev".into(),
            deliverables: vec![notes.clone()],
        }]
    );
    // More of them, without a word on the status: only what is new is shown.
    let more = TaskChange {
        deliverables: vec![file("b.md", "")],
        ..TaskChange::default()
    };
    let (task, shown) = board.change("scan", more, "lead", now(), &members).unwrap();
    let more = BoardDeliverable {
        file_path: "b.md".into(),
        summary: String::new(),
        author_agent_name: "lead".into(),
        ..notes.clone()
    };
    assert_eq!(task.deliverables, [notes, more.clone()]);
    assert_eq!(
        shown,
        [BoardChange::Status {
            task: "task_0001".into(),
            new: BoardStatus::Completed,
            by: "lead".into(),
            deliverables: vec![more],
        }]
    );
    assert_eq!(board.tasks()[0], task);
    // Any may follow any other.
    change(&mut board, "scan", status(BoardStatus::NotStarted)).unwrap();
    assert_eq!(board.tasks()[0].status, BoardStatus::NotStarted);
}

#[test]
fn what_else_changes_is_shown_with_the_whole_board_as_it_is_then() {
    let mut board = scan_and_report();
    let before = board.tasks();
    let anew = TaskChange {
        assignee: Some("lead".into()),
        description: Some("look".into()),
        dependencies: Some(Vec::new()),
        ..TaskChange::default()
    };
    let (task, shown) = change(&mut board, "report", anew.clone()).unwrap();
    let expected = BoardTask {
        assignee: "lead".into(),
        description: "look".into(),
        dependencies: Vec::new(),
        ..before[1].clone()
    };
    assert_eq!(task, expected);
    let [BoardChange::Created { added, all }] = &shown[..] else {
        panic!("{shown:?}");
    };
    assert_eq!(**added, *std::slice::from_ref(&expected));
    assert_eq!(**all, [before[0].clone(), expected]);
    assert_eq!(*all, board.tasks());
    assert_eq!(
        before[1].assignee, "dev",
        "what was shown before stays as it was"
    );

    // The same again is nothing new.
    assert_eq!(
        change(&mut board, "report", anew).unwrap(),
        (task, Vec::new())
    );
    let same = status(BoardStatus::NotStarted);
    assert_eq!(change(&mut board, "report", same).unwrap().1, []);
    let nothing = TaskChange::default();
    assert_eq!(change(&mut board, "report", nothing).unwrap().1, []);
}

#[test]
fn an_id_is_meant_before_a_name_and_of_a_name_the_first() {
    let mut board = scan_and_report();
    add(&mut board, vec![task("task_0001", &[])]).unwrap();
    let (found, _) = change(&mut board, "task_0001", status(BoardStatus::Queued)).unwrap();
    assert_eq!(found.name, "scan");
    let twice = BoardTask {
        id: "task_0004".into(),
        ..board.tasks()[1].clone()
    };
    let mut tasks = board.tasks().to_vec();
    tasks.push(twice);
    let mut board = TaskBoard::new(tasks, 10);
    let (found, _) = change(&mut board, "report", status(BoardStatus::Queued)).unwrap();
    assert_eq!(found.id, "task_0002");
}

#[test]
fn bad_changes_are_refused_by_field_and_change_nothing() {
    let long = "x".repeat(TEXT_MAX + 1);
    let default = TaskChange::default;
    let cases = [
        (after(&["report", "nobody"]), "dependencies[1]"),
        (after(&["scan"]), "dependencies[0]"),
        (after(&["task_0001"]), "dependencies[0]"),
        // `publish` waits for `report`, which waits for `scan`.
        (after(&["alone", "publish"]), "dependencies[1]"),
        (
            TaskChange {
                assignee: Some("stranger".into()),
                ..default()
            },
            "assignee_name",
        ),
        (
            TaskChange {
                description: Some(long.clone()),
                ..default()
            },
            "description",
        ),
        (
            TaskChange {
                deliverables: vec![file("a", "b"), file(" ", "b")],
                ..default()
            },
            "deliverables[1].file_path",
        ),
        (
            TaskChange {
                deliverables: vec![file(&long, "b")],
                ..default()
            },
            "deliverables[0].file_path",
        ),
        (
            TaskChange {
                deliverables: vec![file("a", &long)],
                ..default()
            },
            "deliverables[0].summary",
        ),
    ];
    for (bad, field) in cases {
        let mut board = scan_and_report();
        let more = vec![task("publish", &["report"]), task("alone", &[])];
        add(&mut board, more).unwrap();
        let before = board.tasks();
        let bad = TaskChange {
            status: Some(BoardStatus::Failed),
            ..bad
        };
        let failure = change(&mut board, "scan", bad).unwrap_err();
        assert_eq!(failure.reason, Reason::Invalid, "{failure}");
        let said = format!("field {field:?} ");
        assert!(failure.text.starts_with(&said), "{failure}, not {field}");
        assert_eq!(board.tasks(), before);
    }
    let failure = change(&mut board(), &long, default()).unwrap_err();
    assert_eq!(failure.reason, Reason::NotFound);
    assert!(failure.text.len() < 1000, "{}", failure.text.len());
}

#[test]
fn a_task_could_begin_when_all_that_it_waits_for_is_completed() {
    let mut board = scan_and_report();
    add(&mut board, vec![task("publish", &["scan", "report"])]).unwrap();
    let names = |board: &TaskBoard| -> Vec<String> {
        let tasks = board.runnable();
        tasks.iter().map(|task| task.name.clone()).collect()
    };
    assert_eq!(names(&board), ["scan"]);
    for other in [
        BoardStatus::Queued,
        BoardStatus::InProgress,
        BoardStatus::Blocked,
        BoardStatus::Failed,
    ] {
        change(&mut board, "scan", status(other)).unwrap();
        assert!(names(&board).is_empty(), "{other:?}");
    }
    change(&mut board, "scan", status(BoardStatus::Completed)).unwrap();
    assert_eq!(names(&board), ["report"]);
    change(&mut board, "report", status(BoardStatus::Completed)).unwrap();
    assert_eq!(names(&board), ["publish"]);
    // What is not there any more is not completed.
    let tasks = board.tasks()[1..].to_vec();
    assert!(names(&TaskBoard::new(tasks, 10)).is_empty());
}

#[test]
fn a_thousand_tangled_tasks_fit_and_a_circle_among_them_is_found() {
    let name = |n: usize| format!("{n:03}");
    let tangled = |n: usize| NewTask {
        dependencies: (n + 1..=(n + 40).min(999)).map(name).collect(),
        ..task(&name(n), &[])
    };
    let mut board = TaskBoard::new(Vec::new(), 1000);
    let mut new: Vec<_> = (0..1000).map(tangled).collect();
    new[999].dependencies = vec![name(0)];
    let failure = add(&mut board, new.clone()).unwrap_err();
    assert!(failure.text.contains("circle"), "{failure}");
    new[999].dependencies.clear();
    add(&mut board, new).unwrap();
    assert_eq!(board.runnable().len(), 1);
}

/// One step of somebody who uses a board without much care.
#[derive(Debug, Clone)]
enum Step {
    Add(Vec<(u8, Vec<u8>)>),
    Wait(u8, Vec<u8>),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(0..12_u8, 0..4);
    prop_oneof![
        4 => prop::collection::vec((0..12_u8, some()), 1..4).prop_map(Step::Add),
        4 => (0..12_u8, some()).prop_map(|(task, on)| Step::Wait(task, on)),
        1 => Just(Step::Restart),
    ]
}

/// Whether a task comes before itself, by going along every way there is.
fn comes_before_itself(tasks: &[BoardTask], start: &str) -> bool {
    let of = |id: &str| {
        let task = tasks.iter().find(|task| task.id == id);
        task.map_or(&[][..], |task| &task.dependencies)
    };
    let (mut open, mut seen) = (vec![start], HashSet::new());
    while let Some(id) = open.pop() {
        for next in of(id) {
            if next == start {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

proptest! {
    #[test]
    fn whatever_is_done_to_it_a_board_stays_in_order(steps in prop::collection::vec(step(), 1..40)) {
        let name = |n: &u8| format!("t{n}");
        let mut board = board();
        let mut given = HashSet::new();
        for step in steps {
            let before = board.tasks();
            let is_refused = match step {
                Step::Add(new) => {
                    let new = new.iter().map(|(n, on)| NewTask {
                        dependencies: on.iter().map(name).collect(),
                        ..task(&name(n), &[])
                    });
                    match add(&mut board, new.collect()) {
                        Ok(BoardChange::Created { added, all }) => {
                            prop_assert_eq!(&all, &board.tasks());
                            prop_assert_eq!(before.len() + added.len(), all.len());
                            for task in &*added {
                                prop_assert!(given.insert(task.id.clone()), "{} twice", task.id);
                            }
                            false
                        }
                        Ok(other) => panic!("{other:?}"),
                        Err(_) => true,
                    }
                }
                Step::Wait(n, on) => {
                    let on: Vec<String> = on.iter().map(name).collect();
                    let on: Vec<&str> = on.iter().map(String::as_str).collect();
                    change(&mut board, &name(&n), after(&on)).is_err()
                }
                Step::Restart => {
                    board = TaskBoard::new(before.to_vec(), 10);
                    false
                }
            };
            let tasks = board.tasks();
            if is_refused {
                prop_assert_eq!(&before, &tasks);
            }
            for task in &*tasks {
                prop_assert!(!comes_before_itself(&tasks, &task.id), "{:?}", tasks);
                for id in &task.dependencies {
                    prop_assert!(tasks.iter().any(|other| other.id == *id), "{:?}", tasks);
                }
            }
            prop_assert!(tasks.is_empty() || !board.runnable().is_empty());
        }
    }

    #[test]
    fn tasks_are_refused_only_if_they_really_wait_for_themselves(
        waits in prop::collection::vec(prop::collection::vec(0..8_usize, 0..3), 8),
    ) {
        let new = waits.iter().enumerate().map(|(n, on)| NewTask {
            dependencies: on.iter().map(|on| format!("t{on}")).collect(),
            ..task(&format!("t{n}"), &[])
        });
        let model: Vec<_> = waits.iter().enumerate().map(|(n, on)| BoardTask {
            id: n.to_string(),
            name: String::new(),
            assignee: String::new(),
            description: String::new(),
            dependencies: on.iter().map(usize::to_string).collect(),
            status: BoardStatus::default(),
            deliverables: Vec::new(),
        }).collect();
        let is_tangled = model.iter().any(|task| comes_before_itself(&model, &task.id));
        prop_assert_eq!(add(&mut board(), new.collect()).is_err(), is_tangled);
    }
}
