//! The typed commands of the picture.

/// A command.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) command: String,
    /// Text of the last shown line of a long-running command. Without this text, the recording
    /// waits for the command's end.
    pub(super) until: Option<String>,
}

impl Step {
    /// Parses the steps of a script; the syntax is described in the script.
    pub(super) fn all(script: &str) -> Vec<Self> {
        let mut steps: Vec<Self> = Vec::new();
        for line in script.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match (word, steps.last_mut()) {
                ("$" | "&", _) => steps.push(Self {
                    command: rest.to_owned(),
                    until: (word == "&").then(String::new),
                }),
                (
                    "until",
                    Some(Self {
                        until: Some(until), ..
                    }),
                ) => *until = rest.to_owned(),
                ("" | "#", _) => {}
                _ => panic!("the script says {line:?}, which means nothing"),
            }
        }
        steps
    }
}

#[test]
fn a_script_is_read_line_by_line() {
    let step = |command: &str, until: Option<&str>| Step {
        command: command.to_owned(),
        until: until.map(str::to_owned),
    };
    assert_eq!(
        Step::all("# why\n\n& a b\nuntil it is there\n$ c \"d e\"\n"),
        [step("a b", Some("it is there")), step("c \"d e\"", None)]
    );
}
