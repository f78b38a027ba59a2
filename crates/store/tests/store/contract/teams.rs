//! Teams and their boards.

use std::collections::BTreeMap;

use jackfield_core::{
    store::{Store, TaskRecord},
    team::{
        TeamRecord,
        board::{BoardStatus, BoardTask},
    },
};
use jackfield_model::Json;

use crate::records::{agent, board_task, find, save as save_task, task, team, time};

fn save(store: &dyn Store, team: &TeamRecord) {
    store.save_team(team.clone()).wait().unwrap();
}

fn save_tasks(store: &dyn Store, team: &TeamRecord, tasks: &[BoardTask]) {
    let saved = store.save_team_tasks(team.id.clone(), tasks.to_vec());
    saved.wait().unwrap();
}

fn load(store: &dyn Store) -> Vec<TeamRecord> {
    store.load_teams().wait().unwrap()
}

pub(crate) fn teams_read_back_and_keep_their_tasks_when_changed(store: &dyn Store) {
    let (a, mut b) = (team("a"), team("b"));
    save(store, &b);
    // Only `save_team_tasks` writes tasks.
    let with_tasks = TeamRecord {
        tasks: vec![board_task(7)],
        ..a.clone()
    };
    save(store, &with_tasks);
    assert_eq!(load(store), [a.clone(), b.clone()]);

    b.tasks = vec![board_task(1), board_task(2)];
    save_tasks(store, &b, &b.tasks);
    assert_eq!(load(store), [a.clone(), b.clone()]);

    b.by_admin = false;
    b.spec.name = "B".into();
    b.spec.description = None;
    b.spec.members.pop();
    b.updated_at = time(9);
    let changed = TeamRecord {
        tasks: Vec::new(),
        ..b.clone()
    };
    save(store, &changed);
    assert_eq!(load(store), [a, b]);
}

pub(crate) fn tasks_keep_their_order_whenever_they_change(store: &dyn Store) {
    let (mut a, mut b) = (team("a"), team("b"));
    save(store, &a);
    save(store, &b);
    // Boards number their tasks each for itself, and text would sort 10,000 before 9,999.
    a.tasks = [9998, 9999, 10_000].map(board_task).to_vec();
    save_tasks(store, &a, &a.tasks);
    b.tasks = vec![board_task(9999)];
    save_tasks(store, &b, &b.tasks);
    assert_eq!(load(store), [a.clone(), b.clone()]);

    a.tasks[1] = BoardTask {
        name: "another".into(),
        assignee: "lead".into(),
        description: String::new(),
        dependencies: Vec::new(),
        status: BoardStatus::Completed,
        deliverables: Vec::new(),
        ..a.tasks[1].clone()
    };
    a.tasks.push(board_task(10_001));
    save_tasks(store, &a, &[a.tasks[3].clone(), a.tasks[1].clone()]);
    save_tasks(store, &a, &[]);
    assert_eq!(load(store), [a, b]);
}

pub(crate) fn tasks_of_a_team_that_is_not_there_are_not_kept(store: &dyn Store) {
    let (a, b) = (team("a"), team("b"));
    save(store, &b);
    save_tasks(store, &a, &[board_task(1)]);
    save(store, &a);
    assert_eq!(load(store), [a, b]);
}

pub(crate) fn a_team_goes_with_its_agent_and_its_tasks_with_it(store: &dyn Store) {
    let (a, mut b) = (team("a"), team("b"));
    for team in [&a, &b] {
        save(store, team);
        save_tasks(store, team, &[board_task(1), board_task(2)]);
    }
    b.tasks = vec![board_task(1), board_task(2)];
    // An agent that is written again, as whenever its profile changes, is still a team.
    store.save_agent(agent("a")).wait().unwrap();
    store.save_agent(agent("a")).wait().unwrap();
    assert_eq!(load(store).len(), 2);
    assert_eq!(load(store)[0].tasks.len(), 2);
    store.remove_agent(a.id.clone()).wait().unwrap();
    assert_eq!(load(store), std::slice::from_ref(&b));
    // One of the same id begins with an empty board.
    save(store, &a);
    assert_eq!(load(store), [a, b]);
}

pub(crate) fn the_context_of_a_call_is_kept_with_its_task(store: &dyn Store) {
    let context =
        r#"[{"team": "shop", "path": ["back end", "db"], "member": "d\u00e9"}, {"team": 1e2}]"#;
    let context = Json::parse(context).unwrap();
    let record = TaskRecord {
        context: BTreeMap::from([("team".to_owned(), context)]),
        epoch: 0,
        ..task()
    };
    save_task(store, &record, Vec::new());
    assert_eq!(find(store, record.id), record);
    let reopened = store.reopen_tasks().wait().unwrap();
    assert_eq!(reopened[0].context, record.context);
}
