//! Who is where, and who is meant.

use super::*;

fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

fn tree() -> TeamTree {
    let spec_of = |team: &AgentId| {
        let members: &[(&str, &str)] = match team.as_str() {
            "all" => &[("lead", "a"), ("backend", "@back"), ("helper", "h")],
            "back" => &[("chief", "b"), ("db", "@data"), ("helper", "i")],
            "data" => &[("dba", "c"), ("twin", "a")],
            _ => return None,
        };
        let member = |&(name, of): &(&str, &str)| MemberSpec {
            name: name.into(),
            of: match of.strip_prefix('@') {
                Some(team) => MemberKind::Team(id(team)),
                None => MemberKind::Agent(id(of)),
            },
        };
        Some(TeamSpec {
            name: String::new(),
            description: None,
            coordinator: members[0].0.into(),
            members: members.iter().map(member).collect(),
        })
    };
    TeamTree::build(&id("all"), &spec_of)
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|&name| name.into()).collect()
}

#[test]
fn route_keys_lead_from_the_outside_in() {
    let keys: Vec<_> = tree()
        .positions()
        .iter()
        .map(TreePosition::route_key)
        .collect();
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    assert_eq!(
        keys,
        [
            "lead",
            "helper",
            "backend/chief",
            "backend/helper",
            "backend/db/dba",
            "backend/db/twin"
        ]
    );
    assert_eq!(tree().depth(), 2);
}

#[test]
fn an_agent_sits_where_it_is_nearest() {
    let key = |agent: &str, from: &[&str]| {
        let place = tree().position_of(&id(agent), &names(from));
        place.map(|place| place.route_key().to_string())
    };
    assert_eq!(key("a", &[]).unwrap(), "lead");
    assert_eq!(key("a", &["backend", "db"]).unwrap(), "backend/db/twin");
    assert_eq!(key("a", &["backend"]).unwrap(), "backend/db/twin");
    assert_eq!(key("h", &["backend", "db"]).unwrap(), "helper");
    assert_eq!(key("c", &[]).unwrap(), "backend/db/dba");
    assert_eq!(key("x", &[]), None);
    // A place that is not there any more is as good as the last that is.
    assert_eq!(key("b", &["backend", "gone"]).unwrap(), "backend/chief");
    let place = tree().position_of_coordinator(&id("data"), &[]).unwrap();
    assert_eq!(&*place.route_key(), "backend/db/dba");
    let teams: Vec<_> = place.path.iter().map(|node| node.team.as_str()).collect();
    assert_eq!(teams, ["back", "data"]);
}

#[test]
fn a_name_means_one_member_a_team_or_several() {
    let one = |name: &str| match tree().resolve_name(name) {
        NameLookup::One(place, team) => (
            place.route_key().to_string(),
            team.map(|team| team.to_string()),
        ),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(one("dba"), ("backend/db/dba".to_owned(), None));
    assert_eq!(one("backend/helper"), ("backend/helper".to_owned(), None));
    // A direct member's name is its route key.
    assert_eq!(one("helper"), ("helper".to_owned(), None));
    assert_eq!(
        one("db"),
        ("backend/db/dba".to_owned(), Some("data".to_owned()))
    );
    assert!(matches!(tree().resolve_name("nobody"), NameLookup::Nobody));
    assert!(matches!(
        tree().resolve_name("backend/nobody"),
        NameLookup::Nobody
    ));
}
