//! Input of a handoff as typed: path parameters and data.

use std::{
    fs::File,
    io::{self, Read},
};

use jackfield_peer::wire::{Data, PathParam, PathParams};
use serde_json::Value;

use crate::{
    cmd::call::message,
    exit::{CliError, ExitKind},
};

/// Maximum size of a file in bytes: more than any peer accepts.
const FILE_MAX: u64 = 8 << 20;

/// Parses `--params` into [`PathParams`]: each is a JSON object, or `name=value`.
pub(super) fn params(typed: &[String]) -> Result<PathParams, CliError> {
    let mut params = PathParams::new();
    for text in typed {
        if text.trim_start().starts_with('{') {
            let object: serde_json::Map<String, Value> =
                serde_json::from_str(text).map_err(|error| {
                    CliError::usage(format!("--params {text:?} is not JSON: {error}"))
                })?;
            for (name, value) in object {
                let param = param(&value).ok_or_else(|| {
                    CliError::usage(format!(
                        "{name:?} in --params must be a string, a number or a boolean"
                    ))
                })?;
                params.insert(name, param);
            }
        } else {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                CliError::usage(format!(
                    "--params {text:?} must be name=value, or a JSON object"
                ))
            })?;
            params.insert(name.to_owned(), PathParam::from(value));
        }
    }
    if let Some((name, _)) = params.iter().find(|(_, value)| value.as_str().is_empty()) {
        return Err(CliError::usage(format!(
            "{name:?} in --params is empty; give it a value"
        )));
    }
    Ok(params)
}

/// Converts a JSON value into a path parameter ([`PathParam`]).
pub(super) fn param(value: &Value) -> Option<PathParam> {
    match value {
        Value::String(text) => Some(PathParam::Text(text.clone())),
        Value::Bool(flag) => Some(PathParam::Flag(*flag)),
        Value::Number(number) => Some(PathParam::Number(number.to_string().into())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads `--data` as [`Data`]: JSON or text as typed, `@FILE`, or `-` for standard input.
pub(super) fn data(typed: &str) -> Result<Data, CliError> {
    let text = match typed.strip_prefix('@') {
        Some(path) => read_file(path)?,
        None if typed == "-" => message::read_stdin()?,
        None => typed.to_owned(),
    };
    Ok(Data::from_text(text))
}

/// Reads text from the argument, else from standard input.
pub(super) fn words(typed: Option<&str>) -> Result<String, CliError> {
    let text = match typed {
        Some(text) if text != "-" => text.to_owned(),
        _ => message::read_stdin()?,
    };
    if text.trim().is_empty() {
        return Err(CliError::new(
            ExitKind::Usage,
            "there is nothing to hand off",
            "give TEXT, or pipe it in",
        ));
    }
    Ok(text)
}

fn read_file(path: &str) -> Result<String, CliError> {
    let unreadable = |error: io::Error| {
        CliError::usage(format!(
            "cannot read {path} (--data): {error}; name a file that can be read"
        ))
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_MAX {
        let text = format!("{path} (--data) has more than {} MiB", FILE_MAX >> 20);
        return Err(CliError::new(
            ExitKind::Usage,
            text,
            "send a smaller message, or a link to the file",
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(texts: &[&str]) -> Result<PathParams, CliError> {
        let texts: Vec<_> = texts.iter().map(ToString::to_string).collect();
        params(&texts)
    }

    #[test]
    fn params_are_typed_as_json_or_by_name() {
        let params = typed(&[r#"{"a":1,"b":true,"c":"x"}"#, "d=e=f", "a=2"]).unwrap();
        let params: Vec<_> = params
            .iter()
            .map(|(name, it)| (&**name, it.as_str()))
            .collect();
        assert_eq!(
            params,
            [("a", "2"), ("b", "true"), ("c", "x"), ("d", "e=f")]
        );
    }

    #[test]
    fn what_cannot_be_a_param_is_named() {
        for (texts, field) in [
            (&[r#"{"a":[1]}"#], "\"a\""),
            (&["{"], "--params"),
            (&["word"], "word"),
            (&["city="], "\"city\""),
        ] {
            let stop = typed(texts).unwrap_err();
            assert_eq!(stop.code, ExitKind::Usage);
            assert!(stop.text.contains(field), "{stop}");
        }
    }
}
