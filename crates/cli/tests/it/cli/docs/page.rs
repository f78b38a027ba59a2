//! The pages of the documentation, and their contents: fences, commands with output, and commands in the running text.
//! Pure, except for reading the files.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A page.
pub(super) struct Page {
    /// Path from the root of the repository.
    pub(super) path: String,
    text: String,
}

/// A block between two fences.
#[derive(Debug)]
pub(super) struct Fence {
    /// The number of the first line after the opening fence.
    pub(super) line: usize,
    pub(super) language: String,
    pub(super) text: String,
}

/// A command with its output on the page.
#[derive(Debug)]
pub(super) struct PageCommand {
    /// Page and line, for error messages.
    pub(super) location: String,
    pub(super) command: String,
    pub(super) prints: Vec<String>,
}

/// The root folder of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Page {
    /// Reads a page by its path from the root.
    pub(super) fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path));
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        Self::of(path, text)
    }

    /// Creates a page with this text.
    pub(super) fn of(path: &str, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
        }
    }

    /// Reads all pages.
    pub(super) fn all() -> Vec<Self> {
        let mut paths = Vec::new();
        add_pages(Path::new(""), false, &mut paths);
        for folder in ["docs", "examples", "crates", "xtask"] {
            add_pages(Path::new(folder), true, &mut paths);
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// All blocks of the page.
    pub(super) fn fences(&self) -> Vec<Fence> {
        let mut fences = Vec::new();
        let mut open: Option<(Fence, usize)> = None;
        for (number, line) in (1..).zip(self.text.lines()) {
            let inner = line.trim_start();
            match (&mut open, inner.strip_prefix("```")) {
                (None, Some(language)) => {
                    let fence = Fence {
                        line: number + 1,
                        language: language.trim().to_owned(),
                        text: String::new(),
                    };
                    open = Some((fence, line.len() - inner.len()));
                }
                (Some(_), Some(_)) => fences.extend(open.take().map(|(fence, _)| fence)),
                (Some((fence, indent)), None) => {
                    fence.text += line.get(*indent..).unwrap_or_default();
                    fence.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.path);
        fences
    }

    /// Blocks in a language.
    pub(super) fn fences_of(&self, language: &str) -> Vec<Fence> {
        let mut fences = self.fences();
        fences.retain(|fence| fence.language == language);
        fences
    }

    /// Commands of the console blocks, in order.
    pub(super) fn commands(&self) -> Vec<PageCommand> {
        let fences = self.fences_of("console");
        let page_commands = fences.iter().map(|fence| self.commands_of(fence));
        page_commands.flatten().collect()
    }

    fn commands_of(&self, fence: &Fence) -> Vec<PageCommand> {
        let mut page_commands: Vec<PageCommand> = Vec::new();
        for (number, line) in (fence.line..).zip(fence.text.lines()) {
            let location = format!("{}:{number}", self.path);
            match (line.strip_prefix("$ "), page_commands.last_mut()) {
                (_, Some(last)) if words(&last.command).is_none() => {
                    last.command.push('\n');
                    last.command += line;
                }
                (Some(command), _) => page_commands.push(PageCommand {
                    location,
                    command: command.to_owned(),
                    prints: Vec::new(),
                }),
                (None, Some(last)) => last.prints.push(line.to_owned()),
                (None, None) => {
                    panic!("{location}: a console block begins with `$ ` and a command")
                }
            }
        }
        page_commands
    }

    /// Lines outside of blocks, with their numbers.
    pub(super) fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_open = false;
        let mut prose = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.trim_start().starts_with("```") {
                is_open = !is_open;
            } else if !is_open {
                prose.push((number, line));
            }
        }
        prose
    }

    /// Text between backticks in the running text; may span lines.
    pub(super) fn quoted(&self) -> Vec<String> {
        let prose: Vec<_> = self.prose().iter().map(|(_, line)| line.trim()).collect();
        quoted(&prose.join("\n"))
    }
}

/// Text between backticks. A paragraph's end closes an open backtick.
pub(super) fn quoted(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n");
    let quoted = paragraphs.flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    quoted.map(|code| code.replace('\n', " ")).collect()
}

fn add_pages(folder: &Path, is_deep: bool, paths: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root().join(folder)) else {
        return;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().expect("a type").is_dir();
        if is_folder && is_deep {
            add_pages(&path, true, paths);
        } else if !is_folder && path.extension().is_some_and(|end| end == "md") {
            paths.push(path.to_str().expect("text").to_owned());
        }
    }
}

/// Splits a command into words like a shell, without the comment. Returns `None` if the command continues on the next
/// line.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                '\n' => {}
                escaped => word.get_or_insert_default().push(escaped),
            },
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' if letter == '"' => word.push(letters.next()?),
                        inner => word.push(inner),
                    }
                }
            }
            '#' if word.is_none() => break,
            space if space.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_with_what_they_print_and_over_several_lines() {
        let text = "x\n```console\n$ a b # c\nprinted\n$ d 'e\n f' \\\n  g\n```\n";
        let page_commands = Page::of("p.md", text).commands();
        let (first, second) = (&page_commands[0], &page_commands[1]);
        assert_eq!(
            (first.location.as_str(), &first.prints[0][..]),
            ("p.md:3", "printed")
        );
        assert_eq!(words(&first.command).unwrap(), ["a", "b"]);
        assert_eq!(words(&second.command).unwrap(), ["d", "e\n f", "g"]);
        assert!(second.prints.is_empty());
    }

    #[test]
    #[should_panic(expected = "p.md:2: a console block begins with `$ `")]
    fn a_console_block_without_a_prompt_is_refused() {
        Page::of("p.md", "```console\njackfield ls\n```\n").commands();
    }

    #[test]
    fn what_is_quoted_may_go_over_two_lines_but_not_over_paragraphs() {
        assert_eq!(
            quoted("say `a\nb` and `c`, or `d\n\n`e`"),
            ["a b", "c", "d", "e"]
        );
    }
}
