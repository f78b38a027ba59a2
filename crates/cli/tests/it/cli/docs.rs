//! The documentation is correct. Every command of every page is extracted and run, each page in its own environment.
//! The few commands that can't run in tests are listed with the reason in `excluded`. JSON is sent or parsed, TOML is
//! loaded. A block or page unknown to the tests is an error.

mod commands;
pub(crate) mod compare;
mod environment;
mod excluded;
mod frames;
mod page;
mod prerequisites;
mod snippets;

use clap::CommandFactory as _;
use jackfield_hub::matrix::{self, COLUMNS, Support, Topic};
use jackfield_kit::matrix::Column;

use self::{
    environment::PageEnvironment,
    page::{Page, root},
};

/// Programs whose commands must stand after `$ ` in a console block.
const PROGRAMS: [&str; 10] = [
    "$ ",
    "jackfield ",
    "cargo ",
    "curl ",
    "claude ",
    "npm ",
    "npx ",
    "pip ",
    "python3 ",
    "node ",
];

/// Tests a page: its frames and files, then all of its commands in order.
async fn check_page(page: Page, agents: &'static [&'static str]) {
    if let Some(variable) = snippets::missing(&page) {
        println!(
            "{} was not played: {variable} is not set; see `cargo xtask test`",
            page.path
        );
        return;
    }
    let mut environment = PageEnvironment::set(&page, agents).await;
    for fence in page.fences_of("json") {
        frames::check_json(&environment, &page, &fence).await;
    }
    for fence in page.fences_of("toml") {
        frames::load(&environment, &page, &fence).await;
    }
    for page_command in page.commands() {
        commands::run_command(&mut environment, &page_command).await;
    }
    environment.end().await;
}

/// Defines a test for each page, with the agents that the page mentions.
macro_rules! pages {
    ($($(#[$when:meta])* $name:ident: $path:literal with [$($agent:literal),*];)*) => {
        /// The tested pages.
        const TESTED: &[&str] = &[$($path),*];
        $(
            $(#[$when])*
            #[tokio::test]
            async fn $name() {
                check_page(Page::read($path), &[$($agent),*]).await;
            }
        )*
    };
}

pages! {
    #[cfg(feature = "mcp")]
    the_readme_works: "README.md" with [];
    contributing_works: "CONTRIBUTING.md" with [];
    the_examples_are_there: "examples/README.md" with [];
    connecting_works: "docs/connect.md" with [];
    web_pages_work: "docs/browser.md" with [];
    the_demo_works: "docs/demo.md" with [];
    agora_works: "docs/protocols/agora.md" with [];
    the_bridge_works: "docs/protocols/bridge.md" with [];
    official_a2a_works: "docs/protocols/a2a.md" with ["my-agent"];
    the_dialect_of_a2a_works: "docs/protocols/a2a-seed.md" with ["my-agent"];
    #[cfg(feature = "mcp")]
    mcp_works: "docs/protocols/mcp.md" with ["echo"];
    the_openai_api_works: "docs/protocols/openai.md" with ["my-agent"];
    acp_works: "docs/protocols/acp.md" with ["echo"];
    the_own_api_works: "docs/protocols/own.md" with ["my-agent"];
    #[cfg(feature = "p2p")]
    peers_work: "docs/protocols/p2p.md" with [];
    teams_work: "docs/protocols/team.md" with [];
}

#[test]
fn no_page_shows_anything_that_no_test_tries() {
    for page in Page::all() {
        for fence in page.fences() {
            let location = format!("{}:{}", page.path, fence.line);
            match fence.language.as_str() {
                "console" | "toml" => {}
                "json" => drop(frames::objects(&page, &fence)),
                // Testkit opens this page in a browser.
                "html" => assert_eq!(page.path, "docs/browser.md", "{location}"),
                "text" => {
                    let mut lines = fence.text.lines();
                    let hidden = lines.find(|line| begins_command(line));
                    assert_eq!(
                        hidden, None,
                        "{location}: a command belongs into a console block"
                    );
                    continue;
                }
                _ if snippets::is_program(&fence) => snippets::are_started(&page),
                other => {
                    panic!("{location}: a block of the language {other:?}, which no test tries")
                }
            }
            let is_tested = TESTED.contains(&page.path.as_str());
            assert!(
                is_tested,
                "{location}: no test plays this page; add it to `pages!`"
            );
        }
        for (number, line) in page.prose() {
            let hidden = line
                .strip_prefix("    ")
                .filter(|line| begins_command(line));
            assert_eq!(hidden, None, "{}:{number}: use a console block", page.path);
        }
    }
}

fn begins_command(line: &str) -> bool {
    PROGRAMS
        .iter()
        .any(|program| line.trim_start().starts_with(program))
}

#[test]
fn commands_in_the_running_text_exist() {
    let mut pages = Page::all();
    let example =
        std::fs::read_to_string(root().join("jackfield.example.toml")).expect("the example");
    let comments = example.lines().filter_map(|line| line.strip_prefix('#'));
    let comments: Vec<_> = comments.map(str::trim).collect();
    pages.push(Page::of("jackfield.example.toml", comments.join("\n")));
    let mut checked = 0;
    for page in pages {
        for code in page.quoted() {
            if let Some(args) = code.strip_prefix("jackfield ") {
                exists(&page.path, args);
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} were found");
}

/// Checks that the command and its flags exist. Skips placeholders and arguments of other programs.
fn exists(path: &str, args: &str) {
    let program = jackfield::cli::Cli::command();
    let mut command = &program;
    let words = args
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']']));
    for word in words {
        if word == "--" || word == "exec" {
            return;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split('=').next().unwrap_or_default();
            let mut flags = command.get_arguments().filter_map(clap::Arg::get_long);
            let is_there = flags.any(|it| it == flag) || matches!(flag, "help" | "version");
            assert!(is_there, "{path}: `jackfield {args}`: there is no --{flag}");
        } else if let Some(next) = command.find_subcommand(word) {
            command = next;
        } else {
            let is_program = std::ptr::eq(command, &program);
            assert!(
                !is_program,
                "{path}: `jackfield {args}`: there is no command {word}"
            );
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in Page::all() {
        for (number, line) in page.prose() {
            let links = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            for link in links.filter(|link| !link.contains("://")) {
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = root()
                    .join(&page.path)
                    .parent()
                    .expect("a folder")
                    .join(file);
                let is_there = file.is_empty() || target.exists();
                assert!(is_there, "{}:{number}: {link} leads nowhere", page.path);
                if file.ends_with(".md") && !heading.is_empty() {
                    let text = std::fs::read_to_string(&target).expect("text");
                    let headings = text.lines().filter(|line| line.starts_with('#'));
                    let has = headings.map(anchor).any(|anchor| anchor == heading);
                    assert!(has, "{}:{number}: {link}: no such heading", page.path);
                }
            }
        }
    }
}

/// The link anchor of a heading.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let words = words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    words.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[tokio::test]
async fn a_command_prints_and_reads_lines_of_json_as_the_page_shows_them() {
    let page = Page::read("docs/connect.md");
    let blocks = page.fences_of("json");
    let mut blocks = blocks.iter().map(|fence| frames::objects(&page, fence));
    let prints = blocks
        .find(|lines| lines[0]["kind"] == "text")
        .expect("what it prints");
    let reads = blocks
        .find(|lines| lines[0]["kind"] == "message")
        .expect("what it reads");
    let mut environment = PageEnvironment::set(&Page::of("docs/connect.md", ""), &[]).await;
    frames::lines_of_a_command(&mut environment, &prints, &reads).await;
    environment.end().await;
}

#[tokio::test]
async fn a_program_of_a_page_is_started_and_called() {
    let text = r#"
```python
# parrot.py
import asyncio, json, websockets

async def main():
    async with websockets.connect("ws://127.0.0.1:7411/ws") as hub:
        await hub.send(json.dumps({"type": "register", "id": "parrot"}))
        async for frame in hub:
            frame = json.loads(frame)
            if frame["type"] == "message":
                answer = {"answer": frame["payload"]["body"]["question"]}
                await hub.send(json.dumps({"type": "reply", "to": frame["from"], "payload": {"body": answer}}))

asyncio.run(main())
```

```console
$ python3 parrot.py
$ jackfield call parrot "say it again"
say it again
```
"#;
    check_page(Page::of("a page", text), &[]).await;
}

#[test]
fn the_readmes_table_of_pairs_is_the_table_in_short() {
    use Topic::{Ask, CancelByCaller, Kinds, OneShot, Streamed};
    let sign = |caller: &Column, agent: &Column| {
        let is_full = |topic: &Topic| matches!(caller.of(agent, *topic), Some(Support::Full(_)));
        match [OneShot, Streamed, CancelByCaller].iter().all(is_full) {
            true if [Kinds, Ask].iter().all(is_full) => "●",
            true => "◐",
            false => "–",
        }
    };
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    for caller in COLUMNS {
        let name = match caller.protocol {
            "agora" => "Agora",
            "a2a" => "A2A",
            "openai" => "OpenAI API",
            "acp" => "ACP",
            other => other,
        };
        let signs = matrix::agents().map(|agent| sign(caller, agent));
        let row = format!("| {name} | {} |", signs.collect::<Vec<_>>().join(" | "));
        assert!(readme.contains(&row), "the README has no {row}");
    }
}
