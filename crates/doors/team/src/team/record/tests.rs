use jackfield_core::{
    agent::{Profile, Settings, Share},
    store::{AgentRecord, memory::MemoryStore},
};
use jiff::Timestamp;

use super::*;
use crate::team::{
    MemberKind, MemberSpec,
    board::{BoardDeliverable, BoardStatus},
};

fn time(seconds: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + seconds, 123_456_789).unwrap()
}

fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

/// A team of two, without tasks.
fn team(name: &str) -> TeamRecord {
    let member = |name: &str, of| MemberSpec {
        name: name.into(),
        of,
    };
    TeamRecord {
        id: id(name),
        owner: Owner::parse("ann").unwrap(),
        by_admin: true,
        spec: TeamSpec {
            name: "\u{dc}n\u{ef}code \"quoted\"".into(),
            description: Some("does things together".into()),
            coordinator: "lead".into(),
            members: vec![
                member("lead", MemberKind::Agent(id("a-1"))),
                member("backend", MemberKind::Team(id("t-2"))),
            ],
        },
        created_at: time(4),
        updated_at: time(5),
        tasks: Vec::new(),
    }
}

/// A task of a board, with something of everything.
fn board_task(number: u32) -> BoardTask {
    BoardTask {
        id: format!("task_{number:04}"),
        name: format!("scan {number}"),
        assignee: "backend/db/dba".into(),
        description: "look \u{0} at \u{1F600}".into(),
        dependencies: vec!["task_0001".into(), "task_0002".into()],
        status: BoardStatus::InProgress,
        deliverables: vec![BoardDeliverable {
            file_path: "out/a.md".into(),
            summary: "notes".into(),
            author_agent_name: "dba".into(),
            timestamp: time(6),
        }],
    }
}

/// A store that knows the agents of these teams.
fn store(teams: &[&TeamRecord]) -> MemoryStore {
    let store = MemoryStore::default();
    for team in teams {
        save_agent(&store, &team.id);
    }
    store
}

fn save_agent(store: &MemoryStore, id: &AgentId) {
    let agent = AgentRecord {
        id: id.clone(),
        owner: Owner::parse("ann").unwrap(),
        door: DOOR.to_owned(),
        profile: Profile::default(),
        share: Share::default(),
        settings: Settings::default(),
        registered_at: time(0),
        resume: None,
    };
    // It is there at once.
    drop(store.save_agent(agent));
}

async fn kept(store: &MemoryStore) -> Vec<TeamRecord> {
    load(store).await.unwrap()
}

#[tokio::test]
async fn teams_read_back_and_keep_their_tasks_when_changed() {
    let (a, mut b) = (team("a"), team("b"));
    let store = store(&[&a, &b]);
    save(&store, b.clone()).await.unwrap();
    // Only `save_tasks` writes tasks.
    let with_tasks = TeamRecord {
        tasks: vec![board_task(7)],
        ..a.clone()
    };
    save(&store, with_tasks).await.unwrap();
    assert_eq!(kept(&store).await, [a.clone(), b.clone()]);

    b.tasks = vec![board_task(1), board_task(2)];
    save_tasks(&store, &b.id, &b.tasks).await.unwrap();
    assert_eq!(kept(&store).await, [a.clone(), b.clone()]);

    b.by_admin = false;
    b.spec.name = "B".into();
    b.spec.description = None;
    b.spec.members.pop();
    b.updated_at = time(9);
    let changed = TeamRecord {
        tasks: Vec::new(),
        ..b.clone()
    };
    save(&store, changed).await.unwrap();
    assert_eq!(kept(&store).await, [a, b]);
}

#[tokio::test]
async fn tasks_keep_their_order_whenever_they_change() {
    let (mut a, mut b) = (team("a"), team("b"));
    let store = store(&[&a, &b]);
    save(&store, a.clone()).await.unwrap();
    save(&store, b.clone()).await.unwrap();
    // Boards number their tasks each for itself, and text would sort 10,000 before 9,999.
    a.tasks = [9998, 9999, 10_000].map(board_task).to_vec();
    save_tasks(&store, &a.id, &a.tasks).await.unwrap();
    b.tasks = vec![board_task(9999)];
    save_tasks(&store, &b.id, &b.tasks).await.unwrap();
    assert_eq!(kept(&store).await, [a.clone(), b.clone()]);

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
    let changed = [a.tasks[3].clone(), a.tasks[1].clone()];
    save_tasks(&store, &a.id, &changed).await.unwrap();
    save_tasks(&store, &a.id, &[]).await.unwrap();
    assert_eq!(kept(&store).await, [a, b]);
}

#[tokio::test]
async fn tasks_of_a_team_that_is_not_there_are_not_shown() {
    let (a, b) = (team("a"), team("b"));
    let store = store(&[&b]);
    save(&store, b.clone()).await.unwrap();
    save_tasks(&store, &a.id, &[board_task(1)]).await.unwrap();
    save_agent(&store, &a.id);
    assert_eq!(kept(&store).await, std::slice::from_ref(&b));
    save(&store, a.clone()).await.unwrap();
    assert_eq!(kept(&store).await, [a.clone(), b.clone()]);
    // An agent that is no team has no board, whatever is written.
    let agent = id("agent");
    save_agent(&store, &agent);
    save_tasks(&store, &agent, &[board_task(1)]).await.unwrap();
    assert_eq!(kept(&store).await, [a, b]);
}

#[tokio::test]
async fn a_team_goes_with_its_agent_and_its_tasks_with_it() {
    let (a, mut b) = (team("a"), team("b"));
    let store = store(&[&a, &b]);
    for team in [&a, &b] {
        save(&store, team.clone()).await.unwrap();
        let tasks = [board_task(1), board_task(2)];
        save_tasks(&store, &team.id, &tasks).await.unwrap();
    }
    b.tasks = vec![board_task(1), board_task(2)];
    store.remove_agent(a.id.clone()).await.unwrap();
    assert_eq!(kept(&store).await, std::slice::from_ref(&b));
    // One of the same id begins with an empty board.
    save_agent(&store, &a.id);
    save(&store, a.clone()).await.unwrap();
    assert_eq!(kept(&store).await, [a, b]);
}
