//! Page of the documentation with the table of protocol pairs.

use jackfield_kit::matrix::Column;

use super::{COLUMNS, Support, Topic, agents};

const HEAD: &str = "\
# Every pair of protocols

These tables show what passes when a caller of one protocol calls an agent of another. They are generated from the file `matrix.rs` of
each protocol, and a test checks every cell (`crates/testkit/tests/it/matrix`). `jackfield show --calls A B` prints the rows for two
agents of a hub.

- `●` full
- `◐` converted into something less
- `○` unsupported: the text says what happens instead

A pair supports what both sides support: what the agent's protocol can send, and what the caller's protocol can receive. Pairs that differ
from this rule are listed under [exceptions](#exceptions).

- A question of the agent asks for text. The agent's owner gives approvals. A caller is told that the agent waits for an approval, unless
  the agent lets callers approve (`approvals_to_caller`).
- A protocol that only has callers has rows and no column: nobody calls it.
- Between two Agora agents the hub only relays frames.
- The hub does not connect two peers: they hand off to each other directly.
- A foreign agent is an agent of another owner that is not shared with the caller.
";

/// Returns the page `docs/protocols/matrix.md`.
pub fn page() -> String {
    let sections = [
        HEAD.to_owned(),
        pairs(),
        columns(
            "What callers receive",
            COLUMNS.iter().copied(),
            |column, topic| Some((column.caller)(topic)),
        ),
        columns("What agents send and receive", agents(), |column, topic| {
            column.agent.map(|agent| agent(topic))
        }),
        exceptions(),
    ];
    sections.join("\n")
}

/// Returns a table for each caller, with a column for each agent.
fn pairs() -> String {
    let tables = COLUMNS.iter().map(|caller| {
        let title = format!("{} calls", caller.protocol);
        table(&title, agents(), |agent, topic| {
            let support = caller.of(agent, topic);
            support.as_ref().map_or("", sign).to_owned()
        })
    });
    format!("## Pairs\n\n{}", tables.collect::<Vec<_>>().join("\n"))
}

fn columns(
    title: &str,
    columns: impl Iterator<Item = &'static Column>,
    of: fn(&Column, Topic) -> Option<Support>,
) -> String {
    let table = table("", columns, |column, topic| {
        of(column, topic)
            .as_ref()
            .map_or_else(String::new, cell_text)
    });
    format!("## {title}\n\n{table}")
}

/// Returns the pairs that differ from the lesser of their two columns. Topics with the same text share a row.
fn exceptions() -> String {
    let mut rows: Vec<([&str; 2], Support, Vec<&str>)> = Vec::new();
    for (caller, agent) in COLUMNS
        .iter()
        .flat_map(|caller| agents().map(move |agent| (caller, agent)))
    {
        let pair = [caller.protocol, agent.protocol];
        for topic in Topic::ALL {
            let Some(support) = (caller.exception)(agent.protocol, topic) else {
                continue;
            };
            let same = rows
                .iter_mut()
                .find(|row| (row.0, &row.1) == (pair, &support));
            match same {
                Some((.., topics)) => topics.push(topic.name()),
                None => rows.push((pair, support, vec![topic.name()])),
            }
        }
    }
    let header = ["caller", "agent", "what", "passes"].map(str::to_owned);
    let mut lines = vec![row(header), rule(3)];
    lines.extend(rows.iter().map(|(pair, support, topics)| {
        let pair = pair.map(str::to_owned);
        row(pair
            .into_iter()
            .chain([topics.join(", "), cell_text(support)]))
    }));
    format!("## Exceptions\n\n{}", lines.concat())
}

/// Returns a table with a row for each [`Topic`] and a column for each of `columns`.
fn table(
    corner: &str,
    columns: impl Iterator<Item = &'static Column>,
    cell: impl Fn(&Column, Topic) -> String,
) -> String {
    let columns: Vec<_> = columns.collect();
    let header = columns.iter().map(|column| column.protocol.to_owned());
    let mut lines = vec![
        row([corner.to_owned()].into_iter().chain(header)),
        rule(columns.len()),
    ];
    lines.extend(Topic::ALL.map(|topic| {
        let cells = columns.iter().map(|column| cell(column, topic));
        row([topic.name().to_owned()].into_iter().chain(cells))
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

fn cell_text(support: &Support) -> String {
    format!("{} {}", sign(support), support.text())
}

fn sign(support: &Support) -> &'static str {
    match support {
        Support::Full(_) => "●",
        Support::Converted(_) => "◐",
        Support::Unsupported(_) => "○",
    }
}
