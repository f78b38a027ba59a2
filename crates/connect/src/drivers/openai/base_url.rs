//! Finds the API of a server below the URL that the operator typed. Pure.

use reqwest::Url;

use crate::drivers::web::at;

/// Candidate base URLs of the API, the likeliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseUrlCandidates(Vec<Url>);

impl BaseUrlCandidates {
    /// Derives candidates from a typed URL: users type the base with or without a version, or the URL of an
    /// endpoint.
    pub(super) fn new(typed: &Url) -> Self {
        let path = typed.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = path.strip_suffix("/models").unwrap_or(path);
        let last = path.rsplit('/').next().unwrap_or_default();
        let is_version = last
            .strip_prefix('v')
            .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()));
        let mut places = vec![at(typed, path)];
        if !is_version {
            places.insert(0, at(typed, &format!("{path}/v1")));
        }
        Self(places)
    }

    /// Returns the candidate base URLs.
    pub(super) fn bases(&self) -> &[Url] {
        &self.0
    }
}

/// Returns the URL of a path below a base.
pub(super) fn below(base: &Url, path: &str) -> Url {
    at(
        base,
        &format!("{}/{path}", base.path().trim_end_matches('/')),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_found_with_and_without_its_version() {
        for (typed, tried) in [
            (
                "http://h:11434",
                &["http://h:11434/v1/models", "http://h:11434/models"][..],
            ),
            ("http://h/v1/", &["http://h/v1/models"]),
            (
                "https://h/api/v1/chat/completions",
                &["https://h/api/v1/models"],
            ),
            (
                "https://h/openai?key=1",
                &[
                    "https://h/openai/v1/models?key=1",
                    "https://h/openai/models?key=1",
                ],
            ),
            (
                "https://h/v1beta/openai",
                &[
                    "https://h/v1beta/openai/v1/models",
                    "https://h/v1beta/openai/models",
                ],
            ),
        ] {
            let place = BaseUrlCandidates::new(&Url::parse(typed).unwrap());
            let models = place.bases().iter().map(|base| below(base, "models"));
            let models: Vec<_> = models.map(String::from).collect();
            assert_eq!(models, tried, "{typed}");
        }
    }
}
