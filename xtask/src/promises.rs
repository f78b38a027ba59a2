//! Checks that every section of `docs/promises.md` names tests that exist.
//!
//! A section is a heading of the second level. Below the line `Tests:` stands a list, one item per file:
//! the path of the file, a colon, then the names of its tests. The step `promises` calls [`check`], which reads text
//! only and builds nothing.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const PAGE: &str = "docs/promises.md";

/// A section of the page with the tests that it names.
#[derive(Debug, PartialEq)]
struct Section<'a> {
    title: &'a str,
    tests: Vec<NamedTest<'a>>,
}

/// A test as a section names it.
#[derive(Debug, PartialEq)]
struct NamedTest<'a> {
    file: &'a str,
    name: &'a str,
}

/// Returns the number of sections and of tests that they name.
///
/// # Errors
///
/// Lists every section without a test and every test that is not in the file named.
pub(crate) fn check(workspace: &Workspace) -> Result<(usize, usize)> {
    let page = std::fs::read_to_string(workspace.root.join(PAGE))
        .with_context(|| format!("{PAGE} cannot be read"))?;
    let sections = sections(&page);
    let problems = problems(&sections, |file| {
        std::fs::read_to_string(workspace.root.join(Path::new(file))).ok()
    });
    if !problems.is_empty() {
        bail!(
            "{PAGE} names tests that do not prove it:\n  {}",
            problems.join("\n  ")
        );
    }
    let tests = sections.iter().map(|section| section.tests.len()).sum();
    Ok((sections.len(), tests))
}

/// Splits the page into its sections.
fn sections(page: &str) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut is_list = false;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            is_list = false;
            sections.push(Section {
                title,
                tests: Vec::new(),
            });
        } else if line == "Tests:" {
            is_list = true;
        } else if let Some(section) = sections.last_mut()
            && is_list
            && let Some((file, names)) = line
                .strip_prefix("- ")
                .and_then(|item| item.split_once(':'))
        {
            let names = names.split(',').map(|name| name.trim().trim_matches('`'));
            section.tests.extend(names.map(|name| NamedTest {
                file: file.trim().trim_matches('`'),
                name,
            }));
        }
    }
    sections
}

/// Returns one line for each section without a test and each test that cannot be found.
fn problems(sections: &[Section<'_>], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for Section { title, tests } in sections {
        if tests.is_empty() {
            problems.push(format!(
                "{title}: no tests; list them below a line `Tests:`"
            ));
        }
        for NamedTest { file, name } in tests {
            match read(file) {
                None => problems.push(format!("{title}: there is no file {file}")),
                Some(code) if !declares_test(&code, name) => {
                    problems.push(format!("{title}: {file} has no test {name}"));
                }
                Some(_) => {}
            }
        }
    }
    problems
}

/// Whether the code declares a function of this name with a test attribute above it.
fn declares_test(code: &str, name: &str) -> bool {
    let declared = format!("fn {name}(");
    let mut is_test = false;
    for line in code.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_test |= line.contains("test");
        } else if line.contains(&declared) {
            return is_test;
        } else if !line.is_empty() && !line.starts_with("//") {
            is_test = false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Promises\n\n## 1. Lives\n\nText.\n\nTests:\n- `a.rs`: `one_thing_holds`, `another_holds`\n- `b.rs`: `a_third_holds`\n\n## 2. Ends\n\nText - with a list:\n- no: test\n";

    #[test]
    fn a_section_has_the_tests_of_its_list_only() {
        let sections = sections(PAGE);
        let named: Vec<_> = sections[0].tests.iter().map(|t| (t.file, t.name)).collect();
        let expected = [
            ("a.rs", "one_thing_holds"),
            ("a.rs", "another_holds"),
            ("b.rs", "a_third_holds"),
        ];
        assert_eq!(named, expected);
        assert_eq!(sections[1].title, "2. Ends");
        assert_eq!(sections[1].tests, []);
    }

    #[test]
    fn a_section_without_tests_a_missing_file_and_a_missing_test_are_named() {
        let code = "#[tokio::test(start_paused = true)]\n// Why.\nasync fn one_thing_holds() {}\n\nfn another_holds() {}\n";
        let problems = problems(&sections(PAGE), |file| {
            (file == "a.rs").then(|| code.to_owned())
        });
        let expected = [
            "1. Lives: a.rs has no test another_holds",
            "1. Lives: there is no file b.rs",
            "2. Ends: no tests; list them below a line `Tests:`",
        ];
        assert_eq!(problems, expected);
    }
}
