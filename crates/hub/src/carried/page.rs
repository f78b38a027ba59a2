//! The table as a page of the documentation.

use super::{Matter, Passage, Protocol, apart, hears, passage, says};

const HEAD: &str = "\
# Every pair of protocols

What passes when a caller of one protocol calls an agent of another, and as what. This page is made from the table in
`crates/hub/src/carried.rs`, and every cell of it is a test (`crates/testkit/tests/matrix`). `jackfield show --calls A B` prints the rows
for two agents of a hub.

Callers and agents are joined by a call, and what passes is the lesser of what the agent's protocol can say and what the caller's can
hear. A question of the agent is one for words. An approval is the owner's of the agent to give: callers hear that it is waited for, unless
the agent is set to let callers approve (`approvals_to_caller`). Two agents of Agora are joined by a plain relay instead, and two peers not at all, since they meet without a hub.

`●` whole, `◐` folded into something less, `○` not: something else happens.
";

/// The page `docs/protocols/matrix.md`.
pub fn page() -> String {
    let mut sections = vec![HEAD.to_owned(), pairs()];
    sections.push(columns("What callers hear", hears::passage));
    sections.push(columns(
        "What agents say, and what they are told",
        says::passage,
    ));
    sections.push(exceptions());
    sections.join("\n")
}

/// A table for each caller, with a column for each agent.
fn pairs() -> String {
    let tables = Protocol::ALL.map(|caller| {
        let title = format!("{} calls", caller.name());
        table(&title, |matter, callee| {
            sign(&passage(caller, callee, matter)).to_owned()
        })
    });
    format!("## Pairs\n\n{}", tables.join("\n"))
}

fn columns(title: &str, of: fn(Protocol, Matter) -> Passage) -> String {
    let table = table("", |matter, protocol| shown(&of(protocol, matter)));
    format!("## {title}\n\n{table}")
}

/// What is not the lesser of two columns. Matters of which the same is said share a row.
fn exceptions() -> String {
    let mut rows: Vec<(Protocol, Protocol, Passage, Vec<&str>)> = Vec::new();
    for (caller, callee) in Protocol::pairs() {
        for matter in Matter::ALL {
            let Some(passage) = apart::passage(caller, callee, matter) else {
                continue;
            };
            let is_same =
                |row: &&mut (_, _, _, _)| (row.0, row.1, &row.2) == (caller, callee, &passage);
            match rows.iter_mut().find(is_same) {
                Some((.., matters)) => matters.push(matter.name()),
                None => rows.push((caller, callee, passage, vec![matter.name()])),
            }
        }
    }
    let header = ["caller", "agent", "what", "passes"].map(str::to_owned);
    let mut lines = vec![row(header), rule(3)];
    lines.extend(rows.iter().map(|(caller, callee, passage, matters)| {
        let names = [caller.name(), callee.name()].map(str::to_owned);
        row(names
            .into_iter()
            .chain([matters.join(", "), shown(passage)]))
    }));
    format!("## Exceptions\n\n{}", lines.concat())
}

/// A row for each matter, a column for each protocol.
fn table(corner: &str, cell: impl Fn(Matter, Protocol) -> String) -> String {
    let header = Protocol::ALL.map(|protocol| protocol.name().to_owned());
    let mut lines = vec![
        row([corner.to_owned()].into_iter().chain(header)),
        rule(Protocol::ALL.len()),
    ];
    lines.extend(Matter::ALL.map(|matter| {
        let cells = Protocol::ALL.map(|protocol| cell(matter, protocol));
        row([matter.name().to_owned()].into_iter().chain(cells))
    }));
    lines.concat()
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

fn rule(columns: usize) -> String {
    format!("|---|{}\n", "---|".repeat(columns))
}

fn shown(passage: &Passage) -> String {
    format!("{} {}", sign(passage), passage.text())
}

fn sign(passage: &Passage) -> &'static str {
    match passage {
        Passage::Whole(_) => "●",
        Passage::Folded(_) => "◐",
        Passage::Not(_) => "○",
    }
}
