//! Programs in other languages on the pages. The first line of such a block is a comment with its file name, and a
//! console block of the page starts the program. The programs need the interpreters of the outside judges, with the
//! packages pinned there.

use std::{env, ffi::OsString, fs, path::Path};

use super::page::{Fence, Page};

/// Languages: the name on their blocks, the start of a comment, and the variable with the judge's
/// interpreter.
const LANGUAGES: [(&str, &str, &str); 2] = [
    ("python", "# ", "JACKFIELD_JUDGE_PYTHON"),
    ("javascript", "// ", "JACKFIELD_JUDGE_NODE_PATH"),
];

/// Whether a block is a program.
pub(super) fn is_program(fence: &Fence) -> bool {
    LANGUAGES.iter().any(|(name, ..)| fence.language == *name)
}

/// The file name of a program.
pub(super) fn file_name<'f>(page: &Page, fence: &'f Fence) -> &'f str {
    let language = LANGUAGES.iter().find(|(name, ..)| fence.language == *name);
    let first = fence.text.lines().next().unwrap_or_default();
    let name = language.and_then(|(_, comment, _)| first.strip_prefix(comment));
    let name = name.filter(|name| !name.contains([' ', '/']));
    name.unwrap_or_else(|| {
        panic!(
            "{}:{}: the first line of a program names its file",
            page.path, fence.line
        )
    })
}

/// Checks that the page starts each of its programs.
pub(super) fn are_started(page: &Page) {
    let commands = page.commands();
    for fence in page.fences().iter().filter(|fence| is_program(fence)) {
        let name = file_name(page, fence);
        let is_started = commands.iter().any(|shown| shown.command.contains(name));
        assert!(is_started, "{}: no command starts {name}", page.path);
    }
}

/// The variable of the first missing judge that the page needs.
pub(super) fn missing(page: &Page) -> Option<&'static str> {
    let fences = page.fences();
    let needed = LANGUAGES
        .iter()
        .filter(|(name, ..)| fences.iter().any(|fence| fence.language == *name));
    let mut variables = needed.map(|(.., variable)| *variable);
    variables.find(|variable| env::var_os(variable).is_none())
}

/// Whether a program of the page contains this word.
pub(super) fn name(page: &Page, word: &str) -> bool {
    let fences = page.fences();
    let mut programs = fences.iter().filter(|fence| is_program(fence));
    programs.any(|fence| fence.text.contains(word))
}

/// Writes the programs of a page to a folder, adapted to the environment.
pub(super) fn write(page: &Page, folder: &Path, here: impl Fn(&str) -> String) {
    for fence in page.fences().iter().filter(|fence| is_program(fence)) {
        fs::write(folder.join(file_name(page, fence)), here(&fence.text)).expect("a file");
    }
}

/// The folder of the judge's Python, and the folder of its packages for Node.
pub(super) fn interpreters() -> (Option<OsString>, Option<OsString>) {
    let python = env::var_os("JACKFIELD_JUDGE_PYTHON");
    let python =
        python.and_then(|python| Some(Path::new(&python).parent()?.as_os_str().to_owned()));
    (python, env::var_os("JACKFIELD_JUDGE_NODE_PATH"))
}
