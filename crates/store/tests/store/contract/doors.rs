//! Promises about the records of doors, for their agents and for themselves, and about the context that resolvers keep
//! with tasks.

use std::collections::BTreeMap;

use jackfield_core::store::{DoorRecord, RecordKey, Store, TaskRecord};
use jackfield_model::{AgentId, Json};

use crate::records::{agent, door_record, find, save as save_task, task};

fn save(store: &dyn Store, records: &[&DoorRecord]) {
    let records = records.iter().copied().cloned().collect();
    store.save_records(records, true).wait().unwrap();
}

fn load(store: &dyn Store) -> Vec<DoorRecord> {
    store.load_records("team").wait().unwrap()
}

fn save_agents(store: &dyn Store, agents: &[&str]) {
    for id in agents {
        store.save_agent(agent(id)).wait().unwrap();
    }
}

pub(crate) fn records_read_back_each_for_its_door(store: &dyn Store) {
    save_agents(store, &["a", "b"]);
    let (a, b) = (door_record("a", "team", 1), door_record("b", "team", 2));
    let other = DoorRecord {
        door: "p2p".into(),
        value: Json::parse("[]").unwrap(),
        ..a.clone()
    };
    save(store, &[&b, &other]);
    save(store, &[&a]);
    save(store, &[]);
    assert_eq!(load(store), [a, b]);
    assert_eq!(store.load_records("p2p").wait().unwrap(), [other]);
    assert_eq!(store.load_records("own").wait().unwrap(), []);
}

pub(crate) fn records_keep_their_order_whenever_they_change(store: &dyn Store) {
    save_agents(store, &["a", "b"]);
    // Sorted as text, 10,000 would come before 9,999.
    let records = ["9998", "9999", "10000"].map(|key| door_record("a", key, 1));
    save(store, &records.each_ref());
    // Keys belong to an agent: `b` uses a key that `a` has too.
    let of_b = door_record("b", "9999", 1);
    save(store, &[&of_b]);
    let [first, _, third] = records;
    let (changed, last) = (door_record("a", "9999", 2), door_record("a", "1", 1));
    save(store, &[&last, &changed]);
    assert_eq!(load(store), [first, changed, third, last, of_b]);
}

pub(crate) fn records_for_an_agent_that_is_not_there_are_not_kept(store: &dyn Store) {
    save_agents(store, &["b"]);
    let (a, b) = (door_record("a", "team", 1), door_record("b", "team", 1));
    save(store, &[&a, &b]);
    save_agents(store, &["a"]);
    assert_eq!(load(store), [b]);
}

pub(crate) fn records_go_with_their_agent(store: &dyn Store) {
    save_agents(store, &["a", "b"]);
    let records = [("a", "team"), ("a", "task/1"), ("b", "team")];
    let records = records.map(|(agent, key)| door_record(agent, key, 1));
    save(store, &records.each_ref());
    // A profile change writes the agent again; the agent keeps its records.
    save_agents(store, &["a", "a"]);
    assert_eq!(load(store), records);
    let [a, _, b] = records;
    let removed = store.remove_agent(AgentId::parse("a").unwrap());
    removed.wait().unwrap();
    assert_eq!(load(store), std::slice::from_ref(&b));
    // A new agent with the same id starts without records.
    save_agents(store, &["a"]);
    save(store, &[&a]);
    assert_eq!(load(store), [a, b]);
}

pub(crate) fn records_about_no_agent_stay_until_they_are_removed(store: &dyn Store) {
    save_agents(store, &["a"]);
    let of_a = door_record("a", "x", 1);
    let [x, y] = ["x", "y"].map(|key| DoorRecord {
        agent: None,
        ..door_record("a", key, 2)
    });
    save(store, &[&of_a, &x, &y]);
    store.probe().wait().unwrap();
    assert_eq!(load(store), [x.clone(), y.clone(), of_a.clone()]);
    let changed = DoorRecord {
        value: Json::parse("3").unwrap(),
        ..x
    };
    save(store, &[&changed]);
    assert_eq!(load(store), [changed.clone(), y, of_a.clone()]);
    store.remove_agent(agent("a").id).wait().unwrap();
    let key = |door: &str, agent: Option<AgentId>, key: &str| RecordKey {
        door: door.into(),
        agent,
        key: key.into(),
    };
    // Those of other doors, of agents, and unknown ones are others.
    let keys = vec![
        key("team", None, "y"),
        key("p2p", None, "x"),
        key("team", of_a.agent, "x"),
        key("team", None, "z"),
    ];
    store.remove_records(keys, true).wait().unwrap();
    assert_eq!(load(store), [changed]);
}

pub(crate) fn a_record_of_an_agent_is_removed_by_its_key(store: &dyn Store) {
    save_agents(store, &["a", "b"]);
    let records = [("a", "1"), ("a", "2"), ("b", "1")];
    let [gone, a, b] = records.map(|(agent, key)| door_record(agent, key, 1));
    save(store, &[&gone, &a, &b]);
    let key = RecordKey {
        door: gone.door.clone(),
        agent: gone.agent.clone(),
        key: gone.key.clone(),
    };
    store.remove_records(vec![key], false).wait().unwrap();
    assert_eq!(load(store), [a.clone(), b.clone()]);
    // Written again it is the newest.
    save(store, &[&gone]);
    assert_eq!(load(store), [a, gone, b]);
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
