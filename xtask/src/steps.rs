//! `cargo xtask test`: runs the steps in order, and prints a report at the end.
//!
//! Each step is one function of the table [`STEPS`]. The first failed step ends the run; the report follows
//! in any case, and the very last line is always the count of tests, `N passed, N failed`.

use std::fs;
use std::io::IsTerminal;
use std::num::NonZero;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::count::{self, TestCount};
use crate::disk_space;
use crate::judges::{self, JUDGES, OutsideJudge, PYTHON};
use crate::layers;
use crate::promises;
use crate::workspace::{Workspace, command_line};

/// Steps to run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// Steps to run exclusively; all steps if empty.
    pub(crate) only: Vec<String>,
    /// Steps to leave out.
    pub(crate) skip: Vec<String>,
    /// Whether a step or judge that could not run is a failure.
    pub(crate) is_strict: bool,
}

impl Selection {
    /// Returns whether no step is left to run.
    pub(crate) fn is_empty(&self) -> bool {
        !names().any(|step| self.includes(step))
    }

    fn includes(&self, step: &str) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| name == step);
        (self.only.is_empty() || is_in(&self.only)) && !is_in(&self.skip)
    }
}

struct TestStep {
    name: &'static str,
    about: &'static str,
    /// Advice for a failed step, beyond reading the output.
    hint: &'static str,
    run: fn(&mut TestRun<'_>) -> Result<StepResult>,
}

/// Outcome of a step that did not fail.
enum StepResult {
    Passed,
    /// The step needs a program that is not installed; the closing list names the program.
    CouldNotRun,
}

/// The step that waits for the judges. Their preparation begins with the run, since downloads need no processor.
const SET_UP: &str = "set-up";

/// The step that waits for the judge of the HTTP API. The judge starts after the step `tests` and runs beside the
/// steps in between, since it is one Python thread that leaves the other cores idle.
const API: &str = "api";

/// Tests at the same time, per core: many wait for processes and sockets.
const TESTS_PER_CORE: usize = 2;

const STEPS: [TestStep; 12] = [
    TestStep {
        name: "fmt",
        about: "the code is formatted",
        hint: "`cargo fmt --all` formats it; `rustup component add rustfmt` brings the formatter",
        run: fmt,
    },
    TestStep {
        name: "clippy",
        about: "no lint has a complaint, in any target",
        hint: "`rustup component add clippy` brings the linter",
        run: clippy,
    },
    TestStep {
        name: "docs",
        about: "the documentation builds without warnings",
        hint: "",
        run: docs,
    },
    TestStep {
        name: "deny",
        about: "licences, sources and banned crates, by cargo-deny where it is installed",
        hint: "the rules are in deny.toml",
        run: deny,
    },
    TestStep {
        name: "layers",
        about: "the crates know only those they may know",
        hint: "the rules are in xtask/src/layers.rs",
        run: layers,
    },
    TestStep {
        name: "promises",
        about: "every promise in docs/promises.md names tests that exist",
        hint: "each section ends with a line `Tests:` and a list of files with the names of tests",
        run: promises,
    },
    TestStep {
        name: "build",
        about: "every target builds",
        hint: "",
        run: build,
    },
    TestStep {
        name: SET_UP,
        about: "outside judges are prepared: published clients and servers that the tests run",
        hint: "",
        run: set_up,
    },
    TestStep {
        name: "tests",
        about: "all tests, by cargo-nextest where it is installed",
        hint: "",
        run: tests,
    },
    TestStep {
        name: "doctests",
        about: "the examples in the documentation run",
        hint: "",
        run: doctests,
    },
    TestStep {
        name: "alone",
        about: "the SDK builds alone, without features borrowed from its neighbours, and the program without libp2p and with no feature at all",
        hint: "the crate names a dependency without a feature that it uses",
        run: alone,
    },
    TestStep {
        name: API,
        about: "the HTTP API answers as it describes itself, judged by schemathesis",
        hint: "the judge is in crates/testkit/judges/http_api; its report has a curl line for each finding",
        run: api,
    },
];

/// Returns the names of all steps, in order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|step| step.name)
}

/// Returns name and purpose of all steps, in order.
pub(crate) fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    STEPS.iter().map(|step| (step.name, step.about))
}

/// State shared by the steps of one run.
struct TestRun<'a> {
    workspace: &'a Workspace,
    count: TestCount,
    /// Preparation of the judges, which runs beside the steps before `set-up`.
    preparation: Option<JoinHandle<Preparation>>,
    /// Names of judges that are not ready, with the reasons.
    unready: Vec<(&'static str, String)>,
    deny: JudgeStatus,
    /// Whether the step `tests` ran, which uses all judges.
    tests_ran: bool,
    /// Whether the step `api` is selected, which uses the Python judge.
    api_selected: bool,
    /// The judge of the HTTP API, while it runs beside other steps.
    api_judge: Option<JoinHandle<Result<ApiReport>>>,
}

/// What the judge of the HTTP API printed, and whether it is content.
struct ApiReport {
    output: String,
    is_content: bool,
}

/// Status of an outside judge.
#[derive(Debug, Clone, PartialEq)]
enum JudgeStatus {
    Ran,
    GivenToTests,
    NotAsked,
    CouldNotRun(String),
}

impl JudgeStatus {
    fn could_not_run(&self) -> bool {
        matches!(self, Self::CouldNotRun(_))
    }
}

/// Runs the selected steps and prints the report. Returns whether the run succeeded.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> bool {
    let mut run = TestRun {
        workspace,
        count: TestCount::default(),
        preparation: None,
        unready: Vec::new(),
        deny: JudgeStatus::NotAsked,
        tests_ran: false,
        api_selected: selection.includes(API),
        api_judge: None,
    };
    let start = Instant::now();
    let mut report = Vec::new();
    let mut failure = None;
    if selection.includes(SET_UP) {
        run.begin_preparation();
    }
    for step in STEPS.iter().filter(|step| selection.includes(step.name)) {
        println!("\n==> {}: {}", step.name, step.about);
        let start = Instant::now();
        let result = (step.run)(&mut run);
        let took = start.elapsed();
        let verdict = match &result {
            Ok(StepResult::Passed) => "ok",
            Ok(StepResult::CouldNotRun) => "could not run",
            Err(_) => "FAILED",
        };
        println!("<== {}: {verdict}, {}", step.name, readable(took));
        report.push((step.name, verdict, took));
        if let Err(error) = result {
            failure = Some((step, error));
            break;
        }
    }

    // A preparation or a judge that is cut off would leave its processes running.
    run.end_preparation();
    run.end_api_judge();
    println!("\nSteps, {} in all:", readable(start.elapsed()));
    for (name, verdict, took) in report {
        println!("  {name:<9} {:>12}  {verdict}", readable(took));
    }
    println!("Outside judges:");
    for (title, standing) in run.judge_statuses() {
        println!("  {}", judge_line(&title, &standing));
    }
    let could_run = |(_, standing): &(String, JudgeStatus)| !standing.could_not_run();
    let is_whole = !selection.is_strict || run.judge_statuses().iter().all(could_run);
    let count = closing_count(run.count, failure.is_some() || !is_whole);
    let Some((step, error)) = failure else {
        if !is_whole {
            println!("\nNot all judges could run, and --strict wants them all.");
        }
        println!("{count}");
        return is_whole;
    };
    println!("\nStep `{}` failed: {error:#}", step.name);
    if !step.hint.is_empty() {
        println!("Hint: {}.", step.hint);
    }
    println!("Again: cargo xtask test --only {}", step.name);
    println!("{count}");
    false
}

/// The outcome of preparing the programs and judges that the tests need; an error is the reason for people.
struct Preparation {
    programs: Result<(), String>,
    /// One result per judge, in the order of [`JUDGES`].
    judges: Vec<Result<(), String>>,
}

impl TestRun<'_> {
    /// Starts to prepare the judges on a thread of its own.
    fn begin_preparation(&mut self) {
        let target = self.workspace.target.clone();
        self.preparation = Some(thread::spawn(move || Preparation {
            programs: judges::prepare_programs(),
            judges: JUDGES.iter().map(|judge| judge.prepare(&target)).collect(),
        }));
    }

    /// Waits until the judges are prepared. Returns `None` if no preparation is under way.
    fn end_preparation(&mut self) -> Option<Preparation> {
        self.preparation.take()?.join().ok()
    }

    /// Starts the judge of the HTTP API on a thread of its own. Does nothing if the judge is not ready.
    fn begin_api_judge(&mut self) -> Result<()> {
        // The same command as in the step `build`: for the program alone, cargo would choose other features of its
        // dependencies and build most of them again.
        build(self)?;
        let target = &self.workspace.target;
        let Some((_, python)) = PYTHON.variable(target) else {
            return Ok(());
        };
        let program = format!("jackfield{}", std::env::consts::EXE_SUFFIX);
        // A copy, since other steps may replace the program while the judge starts it.
        let copy = target.join("judges").join(&program);
        fs::copy(target.join("debug").join(&program), &copy)
            .with_context(|| format!("{} could not be written", copy.display()))?;
        let mut judge = Command::new(python);
        judge.arg(self.workspace.root.join(API_JUDGE)).arg(copy);
        self.api_judge = Some(thread::spawn(move || {
            let line = command_line(&judge);
            let output = judge
                .output()
                .with_context(|| format!("`{line}` could not be started"))?;
            let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            Ok(ApiReport {
                output: texts.concat(),
                is_content: output.status.success(),
            })
        }));
        Ok(())
    }

    /// Waits for the judge of the HTTP API. Returns `None` if the judge was not started.
    fn end_api_judge(&mut self) -> Option<Result<ApiReport>> {
        let judge = self.api_judge.take()?;
        Some(
            judge
                .join()
                .unwrap_or_else(|_| Err(anyhow!("the judge of the HTTP API broke off"))),
        )
    }

    /// Runs a command whose output goes straight to the terminal.
    fn run_visibly(mut command: Command) -> Result<StepResult> {
        let line = command_line(&command);
        println!("    {line}");
        let status = command
            .status()
            .with_context(|| format!("`{line}` could not be started"))?;
        if !status.success() {
            bail!("`{line}` ended with {status}");
        }
        Ok(StepResult::Passed)
    }

    /// Runs a test command with the judges in the environment, and adds the results to the count.
    fn run_counted(&mut self, mut command: Command) -> Result<StepResult> {
        let line = command_line(&command);
        println!("    {line}");
        for judge in &JUDGES {
            match judge.variable(&self.workspace.target) {
                Some((name, value)) => command.env(name, value),
                None => command.env_remove(judge.variable_name()),
            };
        }
        if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        let (status, count) = count::run_and_count(command).with_context(|| format!("`{line}`"))?;
        self.count += count;
        if !status.success() {
            bail!("`{line}` ended with {status}");
        }
        Ok(StepResult::Passed)
    }

    /// Returns the closing list: cargo-deny first, then the judges of the tests.
    fn judge_statuses(&self) -> Vec<(String, JudgeStatus)> {
        let mut standings = vec![("cargo-deny".to_owned(), self.deny.clone())];
        for judge in &JUDGES {
            standings.push((judge.title(), self.judge_status(judge)));
        }
        standings
    }

    fn judge_status(&self, judge: &OutsideJudge) -> JudgeStatus {
        let reason = self.unready.iter().find(|(name, _)| *name == judge.name);
        let is_asked = self.tests_ran || (self.api_selected && judge.name == PYTHON.name);
        if let Some((_, reason)) = reason {
            JudgeStatus::CouldNotRun(reason.clone())
        } else if !is_asked {
            JudgeStatus::NotAsked
        } else if judge.variable(&self.workspace.target).is_some() {
            JudgeStatus::GivenToTests
        } else {
            JudgeStatus::CouldNotRun("not prepared, the step `set-up` was not run".to_owned())
        }
    }
}

/// Package of the SDK.
const SDK: &str = "jackfield-sdk";

/// Package of the program.
const PROGRAM: &str = "jackfield";

/// Judge of the HTTP API, a Python program.
const API_JUDGE: &str = "crates/testkit/judges/http_api/judge.py";

fn fmt(run: &mut TestRun<'_>) -> Result<StepResult> {
    TestRun::run_visibly(run.workspace.cargo(&["fmt", "--all", "--check"]))
}

fn clippy(run: &mut TestRun<'_>) -> Result<StepResult> {
    TestRun::run_visibly(run.workspace.cargo_locked(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}

fn docs(run: &mut TestRun<'_>) -> Result<StepResult> {
    let mut command = run
        .workspace
        .cargo_locked(&["doc", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-Dwarnings");
    TestRun::run_visibly(command)
}

fn deny(run: &mut TestRun<'_>) -> Result<StepResult> {
    if !run.workspace.has_cargo_command("deny") {
        println!("    cargo-deny is not installed");
        run.deny =
            JudgeStatus::CouldNotRun("not installed (`cargo install cargo-deny`)".to_owned());
        return Ok(StepResult::CouldNotRun);
    }
    run.deny = JudgeStatus::Ran;
    // Without libp2p the p2p door is not built, and the ban names an unused wrapper.
    TestRun::run_visibly(run.workspace.cargo(&[
        "deny",
        "check",
        "--allow",
        "unused-wrapper",
        "bans",
        "licenses",
        "sources",
    ]))
}

fn layers(run: &mut TestRun<'_>) -> Result<StepResult> {
    layers::check(run.workspace)?;
    println!("    {} crates in order", run.workspace.packages.len());
    Ok(StepResult::Passed)
}

fn promises(run: &mut TestRun<'_>) -> Result<StepResult> {
    let (sections, tests) = promises::check(run.workspace)?;
    println!("    {sections} promises, proved by {tests} tests");
    Ok(StepResult::Passed)
}

fn set_up(run: &mut TestRun<'_>) -> Result<StepResult> {
    let Some(preparation) = run.end_preparation() else {
        bail!("the preparation of the judges broke off");
    };
    preparation.programs.map_err(anyhow::Error::msg)?;
    for (judge, result) in JUDGES.iter().zip(preparation.judges) {
        match result {
            Ok(()) => println!("    {}: ready", judge.title()),
            Err(reason) => {
                println!("    {}: not ready, {reason}", judge.title());
                run.unready.push((judge.name, reason));
            }
        }
    }
    Ok(StepResult::Passed)
}

fn build(run: &mut TestRun<'_>) -> Result<StepResult> {
    TestRun::run_visibly(
        run.workspace
            .cargo_locked(&["build", "--workspace", "--all-targets"]),
    )
}

fn tests(run: &mut TestRun<'_>) -> Result<StepResult> {
    disk_space::check(&std::env::temp_dir(), disk_space::NEEDED_BY_TESTS)?;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (TESTS_PER_CORE * cores).to_string();
    let command = if run.workspace.has_cargo_command("nextest") {
        run.workspace
            .cargo_locked(&["nextest", "run", "--workspace", "--test-threads", &threads])
    } else {
        // All tests except doctests, which have a separate step.
        run.workspace.cargo_locked(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--examples",
            "--no-fail-fast",
            "--",
            "--test-threads",
            &threads,
        ])
    };
    run.tests_ran = true;
    let result = run.run_counted(command)?;
    if run.api_selected {
        run.begin_api_judge()?;
    }
    Ok(result)
}

fn api(run: &mut TestRun<'_>) -> Result<StepResult> {
    if run.api_judge.is_none() {
        run.begin_api_judge()?;
    }
    let Some(report) = run.end_api_judge() else {
        println!("    schemathesis is not ready; the step `set-up` tells why");
        return Ok(StepResult::CouldNotRun);
    };
    let report = report?;
    print!("{}", report.output);
    if !report.is_content {
        bail!("the judge of the HTTP API has complaints");
    }
    Ok(StepResult::Passed)
}

fn doctests(run: &mut TestRun<'_>) -> Result<StepResult> {
    let command = run
        .workspace
        .cargo_locked(&["test", "--workspace", "--doc", "--no-fail-fast"]);
    run.run_counted(command)
}

fn alone(run: &mut TestRun<'_>) -> Result<StepResult> {
    // What people build by itself. The other libraries are built together only, and each set of features costs a build of
    // most third-party crates.
    let builds: [&[&str]; 3] = [
        &["-p", SDK],
        // libp2p, gRPC, MCP and the TUI are features. Builds without libp2p, and without any feature, must work.
        &[
            "-p",
            PROGRAM,
            "--no-default-features",
            "--features",
            "grpc,mcp,tui",
        ],
        &["-p", PROGRAM, "--no-default-features"],
    ];
    for build in builds {
        let check = [&["check", "--quiet"], build].concat();
        TestRun::run_visibly(run.workspace.cargo_locked(&check))?;
    }
    Ok(StepResult::Passed)
}

/// Returns the [`TestCount`] for the last line. A failed step without a failed test counts as one failure, so
/// that the last line alone never looks like success.
fn closing_count(mut count: TestCount, has_failed: bool) -> TestCount {
    if has_failed && count.failed == 0 {
        count.failed = 1;
    }
    count
}

fn judge_line(title: &str, standing: &JudgeStatus) -> String {
    match standing {
        JudgeStatus::Ran => format!("ran            {title}"),
        JudgeStatus::GivenToTests => format!("ran            {title}: given to the tests"),
        JudgeStatus::NotAsked => format!("not asked      {title}"),
        JudgeStatus::CouldNotRun(reason) => format!("could not run  {title}: {reason}"),
    }
}

fn readable(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(only: &[&str], skip: &[&str]) -> Selection {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Selection {
            only: owned(only),
            skip: owned(skip),
            is_strict: false,
        }
    }

    #[test]
    fn all_steps_run_unless_said_otherwise() {
        assert!(names().all(|name| selection(&[], &[]).includes(name)));
    }

    #[test]
    fn skip_wins_over_only() {
        let selection = selection(&["fmt", "docs"], &["docs"]);
        let chosen: Vec<_> = names().filter(|name| selection.includes(name)).collect();
        assert_eq!(chosen, ["fmt"]);
    }

    #[test]
    fn a_failed_step_never_closes_with_zero_failed() {
        assert_eq!(
            closing_count(TestCount::default(), true).to_string(),
            "0 passed, 1 failed"
        );
        let counted = TestCount {
            passed: 5,
            failed: 2,
        };
        assert_eq!(closing_count(counted, true), counted);
        assert_eq!(
            closing_count(TestCount::default(), false),
            TestCount::default()
        );
    }

    #[test]
    fn a_judge_that_could_not_run_is_listed_with_the_reason() {
        let standing = JudgeStatus::CouldNotRun("node is not installed".to_owned());
        assert_eq!(
            judge_line("Node (ws 8)", &standing),
            "could not run  Node (ws 8): node is not installed"
        );
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(readable(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(readable(Duration::from_secs(185)), "3 min 05 s");
    }
}
