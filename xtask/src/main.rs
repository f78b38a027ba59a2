//! Commands for contributors, run as `cargo xtask COMMAND`.
//!
//! `test` is the one test command, for contributors and for CI; `bench` measures; `picture` draws the
//! terminal of the README. This file parses the arguments and chooses the exit code: 0 success, 1 failure, 2
//! wrong usage. `xtask` depends on two small crates only, because every contributor waits for `xtask` to
//! compile first.

mod bench;
mod count;
mod disk_space;
mod judges;
mod layers;
mod picture;
mod promises;
mod steps;
mod workspace;

use std::process::ExitCode;

use steps::Selection;
use workspace::Workspace;

/// Parsed command line.
#[derive(Debug, PartialEq)]
enum XtaskCommand {
    Test(Selection),
    Bench(Vec<String>),
    Picture,
    Help,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let command = match parse(&args) {
        Ok(command) => command,
        Err(problem) => {
            eprintln!("xtask: {problem}\n\n{}", help());
            return ExitCode::from(2);
        }
    };
    let outcome = match command {
        XtaskCommand::Help => {
            print!("{}", help());
            return ExitCode::SUCCESS;
        }
        XtaskCommand::Test(selection) => {
            Workspace::find().map(|workspace| steps::run(&workspace, &selection))
        }
        XtaskCommand::Bench(args) => {
            Workspace::find().and_then(|workspace| bench::run(&workspace, &args).map(|()| true))
        }
        XtaskCommand::Picture => {
            Workspace::find().and_then(|workspace| picture::run(&workspace).map(|()| true))
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<XtaskCommand, String> {
    let Some((command, rest)) = args.split_first() else {
        return Ok(XtaskCommand::Help);
    };
    match command.as_str() {
        "test" if rest.iter().any(|arg| arg == "--help" || arg == "-h") => Ok(XtaskCommand::Help),
        "test" => selection(rest).map(XtaskCommand::Test),
        "bench" => Ok(XtaskCommand::Bench(rest.to_vec())),
        "picture" if rest.is_empty() => Ok(XtaskCommand::Picture),
        "picture" => Err(format!(
            "`picture` takes no arguments, so not `{}`",
            rest[0]
        )),
        "help" | "--help" | "-h" => Ok(XtaskCommand::Help),
        other => Err(format!("unknown command `{other}`")),
    }
}

/// Parses `--strict`, `--only STEP` and `--skip STEP` into a [`Selection`]; the last two may be repeated and
/// take lists with commas.
fn selection(args: &[String]) -> Result<Selection, String> {
    let mut selection = Selection::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--strict" {
            selection.is_strict = true;
            continue;
        }
        let (flag, value) = match arg.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let list = match flag {
            "--only" => &mut selection.only,
            "--skip" => &mut selection.skip,
            _ => return Err(format!("unknown argument `{arg}` of `test`")),
        };
        let value = value
            .or_else(|| args.next().cloned())
            .ok_or_else(|| format!("`{flag}` needs the name of a step"))?;
        for name in value.split(',') {
            if !steps::names().any(|step| step == name) {
                return Err(format!("`{name}` is not a step"));
            }
            list.push(name.to_owned());
        }
    }
    if selection.is_empty() {
        return Err("--only and --skip leave no step".to_owned());
    }
    Ok(selection)
}

fn help() -> String {
    let mut text = String::from(
        "\
Usage: cargo xtask COMMAND

Commands:
  test [--only STEP] [--skip STEP] [--strict]
                 run every check and every test; stop at the first step that fails
  bench [ARGS…]  build for release, fetch rivals to compare with, measure, write docs/benchmarks.md;
                 --only ROW measures one row, --quick only checks that everything works, --help lists the rows
  picture        record a terminal and write docs/picture.svg
  help           show this text

Steps of `test`, in order:
",
    );
    for (name, about) in steps::descriptions() {
        text.push_str(&format!("  {name:<9} {about}\n"));
    }
    text.push_str(
        "\n--only and --skip may be repeated, or take several names with commas between them.\n\
         With --strict it fails if an outside judge could not run.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<XtaskCommand, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&args)
    }

    #[test]
    fn no_arguments_show_the_help() {
        assert_eq!(parsed(""), Ok(XtaskCommand::Help));
        assert_eq!(parsed("help"), Ok(XtaskCommand::Help));
        assert_eq!(parsed("test --help"), Ok(XtaskCommand::Help));
    }

    #[test]
    fn steps_can_be_chosen_and_left_out() {
        let expected = Selection {
            only: vec!["fmt".into(), "clippy".into(), "docs".into()],
            skip: vec!["deny".into()],
            is_strict: true,
        };
        assert_eq!(
            parsed("test --only fmt,clippy --strict --skip=deny --only docs"),
            Ok(XtaskCommand::Test(expected))
        );
    }

    #[test]
    fn leaving_no_step_is_refused() {
        assert_eq!(
            parsed("test --only fmt --skip fmt"),
            Err("--only and --skip leave no step".into())
        );
    }

    #[test]
    fn a_misspelt_step_is_refused() {
        assert_eq!(
            parsed("test --only clipy"),
            Err("`clipy` is not a step".into())
        );
    }

    #[test]
    fn a_flag_without_its_step_is_refused() {
        assert_eq!(
            parsed("test --only"),
            Err("`--only` needs the name of a step".into())
        );
    }

    #[test]
    fn unknown_commands_and_arguments_are_refused() {
        assert!(parsed("tset").is_err());
        assert!(parsed("test --fast").is_err());
        assert!(parsed("picture now").is_err());
    }

    #[test]
    fn arguments_of_bench_are_passed_on_as_they_are() {
        let expected = XtaskCommand::Bench(vec!["--rounds".into(), "3".into()]);
        assert_eq!(parsed("bench --rounds 3"), Ok(expected));
    }

    #[test]
    fn help_names_every_step() {
        let help = help();
        assert!(steps::names().all(|name| help.contains(&format!("\n  {name} "))));
    }
}
