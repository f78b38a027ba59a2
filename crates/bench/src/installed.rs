//! Finds installed programs and their versions.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the path of a program. Debian installs servers into folders that are in the path of root only.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Runs a program that prints its version, and returns what it prints.
pub(crate) fn output_of(program: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output();
    let output = output.ok().filter(|output| output.status.success())?;
    // nginx prints it to stderr.
    let all = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&all).trim().to_owned())
}

/// Returns the first number with dots in a text.
pub(crate) fn version_in(text: &str) -> String {
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words
        .map(|word| word.trim_matches('.'))
        .find(is_version)
        .unwrap_or("unknown")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_among_other_words() {
        assert_eq!(version_in("nginx version: nginx/1.22.1"), "1.22.1");
        assert_eq!(
            version_in("HAProxy version 2.6.12-1+deb12u4 2026/02/01 - https://haproxy.org/"),
            "2.6.12"
        );
        assert_eq!(version_in("none"), "unknown");
    }

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(in_path("sh").is_some());
        assert_eq!(in_path("no-such-program-anywhere"), None);
    }
}
