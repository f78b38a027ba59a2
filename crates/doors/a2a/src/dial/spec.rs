//! What the operator says of a remote: where it is, and what it is shown to be let in. Secrets are named, never held: they
//! are read from the environment or from a file each time they are needed.

use std::path::PathBuf;

use jackfield_core::{agent::Share, units::Span};
use jackfield_kit::json::Object;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schema(as = SecretSource)]
pub enum Source {
    /// In this variable of the hub's environment.
    Env(String),
    /// In this file on the hub's machine.
    #[schema(value_type = String)]
    File(PathBuf),
}

/// How a token is got from an authorization server: the grant of OAuth 2.0 for client credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RemoteOAuth)]
pub struct OAuth {
    /// Where tokens are given out.
    pub token_url: String,
    /// Who the hub is there.
    pub client_id: Source,
    /// And how it proves that.
    pub client_secret: Source,
    /// What the token is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
}

/// What a remote is shown with each request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = RemoteAuth)]
pub struct Auth {
    /// A bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bearer: Option<Source>,
    /// Headers by their names; in JSON an object.
    #[serde(with = "as_object", skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = std::collections::BTreeMap<String, Source>, required = false)]
    pub headers: Vec<(String, Source)>,
    /// A bearer token that is fetched.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe_object"
    )]
    #[schema(nullable = false)]
    pub oauth: Option<OAuth>,
}

/// A remote, as the operator describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSpec {
    /// Its card, or the address below which that is.
    pub url: String,
    /// What it is shown.
    #[serde(default)]
    pub auth: Auth,
    /// How long it may stay silent on a call, where that differs from the hub's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Who else may see and call it; nothing is changed if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// A list is no object, though serde would take one.
fn maybe_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    let object = Option::<Object<T>>::deserialize(d)?;
    Ok(object.map(|object| object.0))
}

mod as_object {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Source;

    pub(super) fn serialize<S: Serializer>(
        headers: &[(String, Source)],
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.collect_map(headers.iter().map(|(name, source)| (name, source)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Vec<(String, Source)>, D::Error> {
        let headers = BTreeMap::deserialize(d)?;
        Ok(headers.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_spec_reads_back_as_written() {
        let text = json!({
            "url": "https://agents.example/one",
            "auth": {
                "bearer": {"env": "TOKEN"},
                "headers": {"X-Api-Key": {"file": "/run/key"}},
                "oauth": {"token_url": "https://id.example/token", "client_id": {"env": "ID"}, "client_secret": {"env": "SECRET"}}
            },
            "timeout": "90s"
        });
        let spec: RemoteSpec = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), text);
        assert_eq!(spec.auth.headers[0].0, "X-Api-Key");
    }

    #[test]
    fn a_misspelt_key_is_an_error_and_so_is_a_secret_in_its_place() {
        for bad in [
            json!({"url": "https://a.example", "auht": {}}),
            json!({"url": "https://a.example", "auth": {"bearer": "s3cret"}}),
            json!({"url": "https://a.example", "auth": {"bearer": {"value": "s3cret"}}}),
            json!({"url": "https://a.example", "auth": {"headers": {"X": {"env": "A", "file": "B"}}}}),
        ] {
            assert!(
                serde_json::from_value::<RemoteSpec>(bad.clone()).is_err(),
                "{bad}"
            );
        }
    }
}
