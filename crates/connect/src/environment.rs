//! Environment variables that started programs inherit: variables that programs need to run, API keys of
//! common agents, and variables that the operator names. Never the hub's token, unless named.

use std::{env, ffi::OsString};

/// Names that are passed on.
const NAMES: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "SSH_AUTH_SOCK",
    "VIRTUAL_ENV",
    "DISABLE_TELEMETRY",
];

/// Prefixes of names that are passed on.
const BEGINNINGS: [&str; 9] = [
    "LC_",
    "XDG_",
    "ANTHROPIC_",
    "CLAUDE_",
    "OPENAI_",
    "CODEX_",
    "GEMINI_",
    "GOOGLE_",
    "OLLAMA_",
];

/// Proxy variables, passed on in upper and lower case.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Returns the variables to pass on, including those in `named`.
pub(crate) fn passed_on(named: &[String]) -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os().filter(|(name, _)| {
        name.to_str()
            .is_some_and(|name| is_usual(name) || named.iter().any(|other| other == name))
    })
}

fn is_usual(name: &str) -> bool {
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_agents_are_passed_on_and_ours_are_not() {
        for name in ["PATH", "LC_ALL", "ANTHROPIC_API_KEY", "https_proxy"] {
            assert!(is_usual(name), "{name}");
        }
        for name in [
            "JACKFIELD_TOKEN",
            "JACKFIELD_PLATFORM_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "path",
            "",
        ] {
            assert!(!is_usual(name), "{name}");
        }
    }

    #[test]
    fn what_is_named_is_passed_on_too() {
        let name = "CARGO_MANIFEST_DIR";
        let passed = |named: &[String]| passed_on(named).any(|(passed, _)| passed == name);
        assert!(!passed(&[]));
        assert!(passed(&[name.to_owned()]));
    }
}
