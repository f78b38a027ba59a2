//! Checks of a request against the agent's profile: accepted media types and required extensions. An agent
//! without a declaration accepts everything.

use http::HeaderMap;
use jackfield_model::Extension;

use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{Part, PartContent},
};

/// Largest number of declared extensions that are stored for remote servers.
const MAX_DECLARED: usize = 64;
/// Longest URI of an extension, in bytes.
const MAX_URI: usize = 1024;

/// Refuses parts whose media type the agent does not accept. A part without a media type passes.
pub(super) fn check_modes(modes: &[String], parts: &[Part]) -> Result<(), A2aError> {
    if modes.is_empty() {
        return Ok(());
    }
    for (place, part) in parts.iter().enumerate() {
        let Some(kind) = part.media_type.as_deref().filter(|kind| !kind.is_empty()) else {
            continue;
        };
        if !modes.iter().any(|mode| covers(mode, kind, part)) {
            let why = format!(
                "content type {kind} is not supported by this agent; it takes {}",
                modes.join(", ")
            );
            return Err(A2aError {
                violations: vec![(format!("message.parts[{place}]"), why.clone())],
                ..A2aError::new(A2aErrorKind::ContentType, why)
            });
        }
    }
    Ok(())
}

/// Returns true if `mode` of a card covers a part of media type `kind`. Cards of older programs use `text`,
/// `file` or `data` as modes.
fn covers(mode: &str, kind: &str, part: &Part) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match mode {
        "*" | "*/*" => true,
        "text" => matches!(part.content, PartContent::Text(_)) || kind.starts_with("text/"),
        "file" => matches!(part.content, PartContent::Bytes(_) | PartContent::Url(_)),
        "data" => matches!(part.content, PartContent::Data(_)),
        _ => match mode.strip_suffix("/*") {
            Some(family) => kind
                .split_once('/')
                .is_some_and(|(of, _)| of.eq_ignore_ascii_case(family)),
            None => kind.eq_ignore_ascii_case(mode),
        },
    }
}

/// Returns the extensions that the caller declares, from the headers of both versions.
fn declared(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    [A2aVersion::V10, A2aVersion::V03]
        .into_iter()
        .flat_map(|version| headers.get_all(version.extensions_header()))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Returns the declared extensions to forward to a remote server, within [`MAX_DECLARED`] and [`MAX_URI`].
pub(super) fn declared_extensions(headers: &HeaderMap) -> Vec<String> {
    let named = declared(headers).filter(|uri| (1..=MAX_URI).contains(&uri.len()));
    named.take(MAX_DECLARED).map(str::to_owned).collect()
}

/// Refuses callers that do not declare an extension that the agent requires.
pub(super) fn check_extensions(known: &[Extension], headers: &HeaderMap) -> Result<(), A2aError> {
    let declared: Vec<&str> = declared(headers).collect();
    let missing = known
        .iter()
        .find(|extension| extension.required && !declared.contains(&extension.uri.as_str()));
    match missing {
        None => Ok(()),
        Some(extension) => {
            let text = format!(
                "this agent requires the extension {}; declare it in the header A2A-Extensions",
                extension.uri
            );
            let fault = A2aError::new(A2aErrorKind::ExtensionRequired, text);
            Err(fault.with("extension", extension.uri.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn part(content: PartContent, media_type: &str) -> Part {
        Part {
            media_type: Some(media_type.into()),
            ..Part::new(content)
        }
    }

    #[test]
    fn parts_are_taken_by_the_modes_of_the_card() {
        let bytes = || PartContent::Bytes("aGk=".into());
        for (mode, kind, taken) in [
            ("text/plain", "text/plain; charset=utf-8", true),
            ("text/*", "TEXT/markdown", true),
            ("image/*", "text/plain", false),
            ("*/*", "application/x-strange", true),
            ("file", "application/x-strange", true),
            ("text", "application/x-strange", false),
            ("data", "application/json", false),
        ] {
            let result = check_modes(&[mode.into()], &[part(bytes(), kind)]);
            assert_eq!(result.is_ok(), taken, "{mode} {kind}");
        }
        let strange = [part(bytes(), "application/x-strange")];
        assert!(check_modes(&[], &strange).is_ok());
        let fault = check_modes(&["text/plain".into()], &strange).unwrap_err();
        assert_eq!(fault.kind, A2aErrorKind::ContentType);
        assert_eq!(fault.violations[0].0, "message.parts[0]");
        assert!(check_modes(&["image/png".into()], &[Part::text("hi")]).is_ok());
    }

    #[test]
    fn what_an_agent_insists_on_has_to_be_declared() {
        let known = [
            Extension {
                uri: "urn:a".into(),
                required: true,
                ..Extension::default()
            },
            Extension {
                uri: "urn:b".into(),
                ..Extension::default()
            },
        ];
        let mut headers = HeaderMap::new();
        let fault = check_extensions(&known, &headers).unwrap_err();
        assert_eq!(fault.kind, A2aErrorKind::ExtensionRequired);
        for version in [A2aVersion::V10, A2aVersion::V03] {
            headers.clear();
            let name = version.extensions_header();
            headers.insert(name, HeaderValue::from_static("urn:x, urn:a,"));
            assert_eq!(check_extensions(&known, &headers), Ok(()));
            assert_eq!(declared_extensions(&headers), ["urn:x", "urn:a"]);
        }
    }
}
