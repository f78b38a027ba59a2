//! `team`: its requests to the hub, and its output.

use jackfield_model::{AskKind, Event};
use jackfield_testkit::{TestHub, attach_agent};
use serde_json::{Value, json};

use crate::cli::{asks::question, fake::FakeHub};
use crate::run::Cli;

fn team() -> Value {
    json!({
        "id": "shop", "name": "The shop", "owner": "local", "coordinator": "lead", "online": true, "status": "RUNNING",
        "members": [{"name": "lead", "agent": "claude"}, {"name": "backend", "team": "db-team"}],
        "run": {"id": "run_1", "sequence": 12, "started_at": "2026-03-01T10:00:00.123Z"},
        "created_at": "2026-03-01T09:00:00Z", "updated_at": "2026-03-01T09:00:00Z",
        "agents": [{"route_key": "lead", "name": "lead", "agent": "claude", "online": true, "status": "executing_tool"},
                   {"route_key": "backend/dba", "name": "dba", "agent": "ann", "online": false, "status": "idle"},
                   {"route_key": "backend/aide", "name": "aide", "agent": "bob", "online": false, "status": "analyzing_llm_response"}],
    })
}

fn task(id: &str, name: &str, after: &[&str]) -> Value {
    json!({"id": id, "task_id": id, "task_name": name, "assignee_name": "lead", "description": "do it", "dependencies": after,
           "status": "not_started", "file_deliverables": []})
}

/// Runs a command against a hub that expects and answers a single request.
async fn run(
    args: &[&str],
    what: &str,
    body: Value,
    status: u16,
    answer: Value,
) -> crate::run::Run {
    let hub = FakeHub::start().await;
    let cli = Cli::at(&hub.url());
    let (run, ()) = tokio::join!(cli.run(args), async {
        let asked = hub.expect(what).await;
        assert_eq!(asked.body, body, "{asked:?}");
        asked.answer(status, &answer).await;
    });
    run
}

#[tokio::test]
async fn teams_are_listed() {
    let ls = ["team", "ls"];
    let listed = run(
        &ls,
        "GET /v1/teams",
        Value::Null,
        200,
        json!({"teams": [team()]}),
    )
    .await;
    assert_eq!(
        listed.ok().out,
        "shop\tThe shop\tonline\tRUNNING\t1 of 3 online\tlocal\n"
    );
    let none = run(&ls, "GET /v1/teams", Value::Null, 200, json!({"teams": []})).await;
    none.ok().stderr_has("jackfield team create");
}

#[tokio::test]
async fn a_team_is_shown_as_a_tree_with_its_board() {
    let hub = FakeHub::start().await;
    let cli = Cli::at(&hub.url());
    let tasks = json!({"tasks": [task("task_0001", "design", &[]), task("task_0002", "build", &["task_0001"])]});
    let show = async |args: &[&str]| {
        let (run, ()) = tokio::join!(cli.run(args), async {
            let asked = hub.expect("GET /v1/teams/shop").await;
            asked.answer(200, &team()).await;
            let asked = hub.expect("GET /v1/teams/shop/tasks").await;
            asked.answer(200, &tasks).await;
        });
        run.ok()
    };
    let shown = show(&["team", "show", "shop"]).await.out;
    for line in [
        "run\trun_1 since 2026-03-01T10:00:00Z, 12 events",
        "coordinator\tlead",
        "lead\tclaude\tonline\texecuting_tool",
        "backend/\tteam db-team\t\t",
        "backend/dba\tann\toffline\tidle",
        "backend/aide\tbob\toffline\toffline; was analyzing_llm_response",
        "task_0002\tbuild\tnot_started\tlead\tdesign\t\tdo it",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line:?} in {shown}");
    }
    let whole = show(&["team", "show", "shop", "--json"]).await.json();
    assert_eq!(whole["tasks"], tasks["tasks"]);
    assert_eq!(whole["members"], team()["members"]);
}

#[tokio::test]
async fn a_team_is_made_of_what_was_named() {
    let args = [
        "team",
        "create",
        "shop",
        "--member",
        "lead=claude",
        "--member",
        "ann",
        "--team",
        "backend=db-team",
        "--description",
        "sells",
    ];
    // Without a coordinator; the hub chooses.
    let body = json!({"id": "shop", "description": "sells", "members": [
        {"name": "lead", "agent": "claude"}, {"name": "ann", "agent": "ann"}, {"name": "backend", "team": "db-team"}]});
    let made = run(&args, "POST /v1/teams", body, 201, team()).await.ok();
    assert!(made.out.starts_with("id\tshop\n"), "{made:?}");
    made.stderr_has("jackfield watch shop");
    let args = [
        "team",
        "create",
        "shop",
        "--member",
        "ann",
        "--member",
        "bob",
        "--coordinator",
        "bob",
        "--name",
        "S",
        "--json",
    ];
    let body = json!({"id": "shop", "name": "S", "coordinator": "bob",
                      "members": [{"name": "ann", "agent": "ann"}, {"name": "bob", "agent": "bob"}]});
    let made = run(&args, "POST /v1/teams", body, 201, team()).await.ok();
    assert_eq!(made.json(), team());
}

#[tokio::test]
async fn only_what_is_named_is_changed() {
    let args = ["team", "change", "shop", "--description", "sells more"];
    let body = json!({"description": "sells more"});
    run(&args, "PATCH /v1/teams/shop", body, 200, team())
        .await
        .ok();
    let args = [
        "team",
        "change",
        "shop",
        "--coordinator",
        "bob",
        "--member",
        "bob=ann",
        "--json",
    ];
    let members = json!([{"name": "backend", "team": "db-team"}, {"name": "bob", "agent": "ann"}]);
    let body = json!({"coordinator": "bob", "members": members});
    change_members(&args, body).await.ok();
    let nowhere = Cli::at("http://127.0.0.1:1");
    let nothing = nowhere.run(&["team", "change", "shop"]).await;
    nothing
        .code(2)
        .stderr_has("nothing to change")
        .stderr_has("--member");
}

/// Changes members; the command first requests the existing members.
async fn change_members(args: &[&str], body: Value) -> crate::run::Run {
    let hub = FakeHub::start().await;
    let cli = Cli::at(&hub.url());
    let (run, ()) = tokio::join!(cli.run(args), async {
        let asked = hub.expect("GET /v1/teams/shop").await;
        asked.answer(200, &team()).await;
        if body.is_null() {
            return;
        }
        let asked = hub.expect("PATCH /v1/teams/shop").await;
        assert_eq!(asked.body, body, "{asked:?}");
        asked.answer(200, &team()).await;
    });
    run
}

#[tokio::test]
async fn members_come_and_go_one_by_one_and_the_others_stay() {
    let (lead, backend) = (
        json!({"name": "lead", "agent": "claude"}),
        json!({"name": "backend", "team": "db-team"}),
    );
    let change = |more: &[&'static str]| [&["team", "change", "shop"], more].concat();
    let ann = json!({"name": "writer", "agent": "ann"});
    let body = json!({"members": [lead, backend, ann]});
    change_members(&change(&["--add", "writer=ann"]), body)
        .await
        .ok();
    let body = json!({"members": [lead]});
    change_members(&change(&["--remove", "backend"]), body)
        .await
        .ok();
    // A member's name moves to another member.
    let body = json!({"members": [lead, {"name": "backend", "team": "new-team"}]});
    let args = ["--remove", "backend", "--add-team", "backend=new-team"];
    change_members(&change(&args), body).await.ok();
    let body = json!({"members": [lead, {"name": "web", "team": "web"}]});
    change_members(&change(&["--team", "web"]), body).await.ok();
    for (args, text) in [
        (
            ["--remove", "bob"],
            "team shop has no member \"bob\"; it has lead, backend",
        ),
        (
            ["--add", "lead=ann"],
            "team shop has a member \"lead\" already; it has lead, backend",
        ),
    ] {
        let refused = change_members(&change(&args), Value::Null).await;
        refused.code(2).stderr_has(text);
    }
}

#[tokio::test]
async fn a_team_is_removed() {
    let args = ["team", "rm", "shop", "--yes"];
    let removed = run(
        &args,
        "DELETE /v1/teams/shop",
        Value::Null,
        204,
        Value::Null,
    )
    .await;
    removed.ok().stderr_has("shop is removed");
    let conflict = json!({"error": "conflict", "message": "shop is a member of mall"});
    let kept = run(&args, "DELETE /v1/teams/shop", Value::Null, 409, conflict).await;
    kept.code(1)
        .stderr_has("a member of mall")
        .stderr_has("jackfield team ls");
}

#[tokio::test]
async fn the_board_is_seen_and_changed() {
    let tasks = "/v1/teams/shop/tasks";
    let args = ["team", "task", "ls", "shop"];
    let none = run(
        &args,
        &format!("GET {tasks}"),
        Value::Null,
        200,
        json!({"tasks": []}),
    )
    .await;
    none.ok().stderr_has("jackfield team task add");
    let args = [
        "team",
        "task",
        "add",
        "shop",
        "--name",
        "build",
        "--assignee",
        "lead",
        "--after",
        "design",
        "--after",
        "task_0003",
    ];
    let body = json!({"tasks": [{"task_name": "build", "assignee_name": "lead", "dependencies": ["design", "task_0003"]}]});
    let answer = json!({"tasks": [task("task_0002", "build", &["task_0001"])]});
    let added = run(&args, &format!("POST {tasks}"), body, 201, answer)
        .await
        .ok();
    assert_eq!(
        added.out,
        "task_0002\tbuild\tnot_started\tlead\ttask_0001\t\tdo it\n"
    );
    let args = [
        "team",
        "task",
        "set",
        "shop",
        "the build",
        "completed",
        "--deliver",
        "a.js=the = program",
        "--as",
        "lead",
        "--json",
    ];
    let body = json!({"status": "completed", "agent_name": "lead", "deliverables": [{"file_path": "a.js", "summary": "the = program"}]});
    let answer = task("task_0002", "the build", &[]);
    let set = run(
        &args,
        &format!("PATCH {tasks}/the%20build"),
        body,
        200,
        answer.clone(),
    )
    .await;
    assert_eq!(set.ok().json(), answer);
    let args = ["team", "task", "set", "shop", "x", "failed"];
    let missing = json!({"error": "not_found", "message": "no task x"});
    let body = json!({"status": "failed"});
    let unknown = run(&args, &format!("PATCH {tasks}/x"), body, 404, missing).await;
    unknown.code(3).stderr_has("jackfield team task ls shop");
    let nowhere = Cli::at("http://127.0.0.1:1");
    let wrong = nowhere
        .run(&["team", "task", "set", "shop", "x", "half"])
        .await;
    wrong.code(2).stderr_has("in_progress");
}

#[tokio::test]
async fn something_is_said_to_a_team_and_to_a_member() {
    let started = json!({"task": "0199c2f0-1111-7aaa-8bbb-123456789abc", "call": "c"});
    let args = ["team", "say", "shop", "close at six"];
    let messages = "POST /v1/teams/shop/messages";
    let body = json!({"content": "close at six"});
    let run_result = run(&args, messages, body, 202, started.clone()).await.ok();
    assert_eq!(run_result.out, "0199c2f0-1111-7aaa-8bbb-123456789abc\n");
    run_result
        .stderr_has("jackfield task wait 0199c2f0")
        .stderr_has("jackfield watch shop");
    let args = [
        "team",
        "say",
        "shop",
        "index",
        "--to",
        "backend/dba",
        "--json",
    ];
    let body = json!({"content": "index", "target": "backend/dba"});
    let run_result = run(&args, messages, body.clone(), 202, started.clone())
        .await
        .ok();
    assert_eq!(run_result.json(), started);
    // A member that waited for input has it, and waits no longer.
    let answered = json!({"answered": true});
    let args = ["team", "say", "shop", "index", "--to", "backend/dba"];
    let run_result = run(&args, messages, body, 202, answered).await.ok();
    assert_eq!(run_result.out, "");
    let run_result = run_result.stderr_has("backend/dba has the answer");
    assert!(!run_result.err.contains("task wait"), "{run_result:?}");
}

#[tokio::test]
async fn a_team_is_stopped_whole_or_in_part() {
    let stop = "POST /v1/teams/shop/stop";
    let whole = ["team", "stop", "shop"];
    let run_result = run(&whole, stop, json!({}), 202, json!({"stopped": 2})).await;
    run_result.ok().stderr_has("2 calls are stopped");
    let part = ["team", "stop", "shop", "lead"];
    let run_result = run(
        &part,
        stop,
        json!({"target": "lead"}),
        202,
        json!({"stopped": 0}),
    )
    .await;
    run_result.ok().stderr_has("nothing was running");
}

#[tokio::test]
async fn what_is_asked_for_is_approved_and_denied() {
    let decisions = "POST /v1/teams/shop/decisions";
    let args = ["team", "approve", "shop", "c1", "--member", "backend/dba"];
    let body = json!({"invocation_id": "c1", "approve": true, "target": "backend/dba"});
    let run_result = run(&args, decisions, body, 200, json!({})).await;
    run_result.ok().stderr_has("c1 is approved");
    let args = [
        "team", "deny", "shop", "c1", "--reason", "not now", "--json",
    ];
    let body = json!({"invocation_id": "c1", "approve": false, "reason": "not now"});
    let run_result = run(&args, decisions, body.clone(), 200, json!({})).await;
    assert_eq!(
        run_result.ok().json(),
        json!({"invocation_id": "c1", "approved": false})
    );
    let missing = json!({"error": "not_found", "message": "nobody asks for c1"});
    let run_result = run(&args, decisions, body, 404, missing).await;
    run_result
        .code(3)
        .stderr_has("nobody asks for c1")
        .stderr_has("jackfield watch shop");
}

#[tokio::test]
async fn an_unknown_team_and_a_closed_door_are_told_apart() {
    let args = ["team", "task", "ls", "shop"];
    let missing = json!({"error": "not_found", "message": "there is no team shop"});
    let run_result = run(&args, "GET /v1/teams/shop/tasks", Value::Null, 404, missing).await;
    run_result.code(3).stderr_has("jackfield team ls");
    let closed = json!({"error": "unauthorized", "message": "no"});
    let run_result = run(&args, "GET /v1/teams/shop/tasks", Value::Null, 401, closed).await;
    run_result.code(4).stderr_has("--token-file");
}

#[tokio::test]
async fn a_real_team_is_made_seen_told_and_stopped() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (mut claude, _ann) = (
        attach_agent(hub.hub(), "claude"),
        attach_agent(hub.hub(), "ann"),
    );
    let member = cli
        .run(&["team", "create", "x", "--member", "nobody"])
        .await;
    member.code(2).stderr_has("nobody");
    cli.run(&["team", "create", "db", "--member", "dba=ann"])
        .await
        .ok();
    let args = [
        "team",
        "create",
        "shop",
        "--member",
        "lead=claude",
        "--team",
        "backend=db",
    ];
    cli.run(&args).await.ok();
    let listed = cli.run(&["team", "ls"]).await.ok().out;
    assert!(
        listed.contains("shop\tshop\tonline\tIDLE\t2 of 2 online"),
        "{listed}"
    );
    let args = [
        "team",
        "task",
        "add",
        "shop",
        "--name",
        "build",
        "--assignee",
        "lead",
    ];
    cli.run(&args).await.ok();
    let args = [
        "team",
        "task",
        "set",
        "shop",
        "build",
        "in_progress",
        "--as",
        "lead",
    ];
    cli.run(&args).await.ok();

    let mut watch = cli.start(&["watch", "shop"]);
    assert_eq!(watch.line().await.unwrap(), "shop     │ · IDLE");
    assert_eq!(
        watch.line().await.unwrap(),
        "shop     │ task build (lead): in_progress"
    );
    cli.run(&["team", "say", "shop", "sell it"]).await.ok();
    let serving = claude.next_call().await;
    serving.push(Event::text("sold\nout"));
    watch.until_line("lead     │ sold").await;
    serving.ask(question("q1", AskKind::Approval));
    watch.until_line("lead     │ out").await;
    let how = watch
        .until_line("lead     │   jackfield team approve shop")
        .await;
    // The suggested command works.
    let typed = how.split_once("jackfield ").unwrap().1;
    let typed = typed.strip_suffix(" (or deny)").unwrap();
    let args: Vec<_> = typed.split(' ').collect();
    cli.run(&args).await.ok().stderr_has("is approved");
    let twice = cli.run(&args).await;
    assert_ne!(twice.code, 0, "{twice:?}");
    cli.run(&["team", "stop", "shop"])
        .await
        .ok()
        .stderr_has("one call is stopped");
    watch.until_line("shop     │ · IDLE").await;

    let shown = cli.run(&["team", "show", "shop"]).await.ok().out;
    assert!(shown.contains("backend/dba\tann\tonline\t"), "{shown}");
    cli.run(&["team", "rm", "db", "--yes"])
        .await
        .code(1)
        .stderr_has("shop");
    cli.run(&["team", "rm", "shop", "--yes"]).await.ok();
    watch.end().await.code(3).stderr_has("jackfield team ls");
}
