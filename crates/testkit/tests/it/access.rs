//! Access control: every operation of every door, requested by every kind of caller, compared with the table in
//! docs/access.md. `JACKFIELD_WRITE_ACCESS=1` writes the table anew.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod asked;
mod fixture;
mod rows;

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use jackfield_core::{agent::Share, principal::Principal};
use jackfield_model::AgentId;
use jackfield_testkit::{TestHub, attach_agent};
use reqwest::{Client, Method};

use self::{
    asked::{Answer, Cell},
    fixture::{AccessFixture, Caller},
    rows::{Row, rows},
};

/// Text above the table.
const HEAD: &str = "# Who may do what

This table shows the hub's answer to every operation of every protocol, for every kind of caller. A test checks every cell.

All objects in the table belong to ann: the agent `anns-agent`, which is shared with nobody, a team that contains it, a task, a response
of the OpenAI API and a token. The remote server is an exception: an administrator added it.

| caller | what it sends |
|---|---|
| admin | a token with the scope `admin` |
| owner | ann's token, with the scope `agent:anns-*` |
| other | bob's token, with the scope `agent:bobs-*` |
| invite | the token of ann's invite for `anns-laptop`, which is in no team |
| platform | the platform's secret |
| stranger | eve's token, without scopes |
| none | no token, to a hub that requires tokens |
| proxy | no token, through a proxy, to a hub on loopback |

| cell | meaning |
|---|---|
| yes | Allowed. The request may still fail for another reason than the caller; the object is not hidden. |
| own | Allowed. The answer contains nothing of ann's. |
| told | Refused. The answer shows that the object exists, because the caller may see it. |
| unknown | The answer is the same as for an object that does not exist. |
| – | Refused, whatever the object. |

";

#[tokio::test]
async fn every_operation_answers_every_caller_as_the_table_says() {
    let rows = rows();
    let mut columns = Vec::new();
    for caller in Caller::ALL {
        let fixture = AccessFixture::new(caller).await;
        let mut column = Vec::new();
        for row in &rows {
            column.push(Answer::to(&fixture, row).await);
        }
        columns.push(column);
    }
    let mut page = HEAD.to_owned();
    let names: Vec<_> = Caller::ALL.iter().map(Caller::name).collect();
    writeln!(page, "| operation | {} |", names.join(" | ")).unwrap();
    writeln!(page, "|---|{}", "---|".repeat(names.len())).unwrap();
    for (at, row) in rows.iter().enumerate() {
        // An operation is a list only if at least one caller sees ann's things in it.
        let is_list = columns.iter().any(|column| column[at].tells_of_ann);
        let cells = columns.iter().map(|column| column[at].cell(is_list));
        let cells: Vec<Cell> = cells.collect();
        for (caller, cell) in Caller::ALL.iter().zip(&cells) {
            let is_foreign = caller.is_foreign();
            assert!(
                !is_foreign || *cell != Cell::Told,
                "{row} tells {} that ann has such a thing",
                caller.name()
            );
        }
        let cells: Vec<_> = cells.iter().map(|cell| cell.text()).collect();
        writeln!(page, "| {row} | {} |", cells.join(" | ")).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access.md");
    if std::env::var_os("JACKFIELD_WRITE_ACCESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (is, expected) in page.lines().zip(written.lines()) {
        assert_eq!(is, expected, "docs/access.md says something else");
    }
    assert_eq!(page.lines().count(), written.lines().count());
}

#[tokio::test]
async fn the_table_has_every_route_that_is_described() {
    let hub = TestHub::start_with(|config| config.p2p.enabled = true).await;
    let listed: BTreeSet<_> = rows().iter().filter_map(Row::route).collect();
    let missing: Vec<_> = described(&hub).await.difference(&listed).cloned().collect();
    assert!(missing.is_empty(), "docs/access.md lacks {missing:?}");
}

/// The routes of `/openapi.json`, as `METHOD PATH`.
async fn described(hub: &TestHub) -> BTreeSet<String> {
    let admin = hub.token("root", &["admin"]).await;
    let (_, description) = hub.web_of(&admin).get("/openapi.json").await;
    let paths = description["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        let methods = methods.filter(|method| *method != "parameters");
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

#[tokio::test]
async fn the_routes_without_a_token_are_those_that_are_listed() {
    let hub = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.public_url = Some("https://hub.example.com".to_owned());
        config.p2p.enabled = true;
    })
    .await;
    // An agent that everyone may call: sharing makes its card public, and nothing else.
    let _agent = attach_agent(hub.hub(), "id");
    let (local, id) = (Principal::local(), AgentId::parse("id").unwrap());
    let shared = hub
        .hub()
        .agents()
        .change(&local, &id, Some(Share::Everyone), None);
    shared.unwrap().1.await.unwrap();
    let mut routes = described(&hub).await;
    routes.extend(rows().iter().filter_map(Row::route));
    let mut open = BTreeSet::from(["GET /ws".to_owned()]);
    for route in routes {
        let (method, path) = route.split_once(' ').unwrap();
        let asked = path.replace(['{', '}'], "");
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = Client::new().request(method, hub.url(&asked));
        if asked.starts_with("/ws/") {
            request = request
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        if request.send().await.unwrap().status() != 401 {
            open.insert(route);
        }
    }
    let listed = include_str!("../../../../SECURITY.md");
    let listed = listed.split("## Routes without a token").nth(1).unwrap();
    let listed = listed.split("\n## ").next().unwrap();
    let listed: BTreeSet<_> = listed
        .lines()
        .filter(|line| line.starts_with("- "))
        .collect();
    let quoted = listed
        .iter()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let listed: BTreeSet<_> = quoted
        .filter(|quoted| quoted.contains(' '))
        .map(str::to_owned)
        .collect();
    assert_eq!(open, listed);
}
