//! The operator's description of a remote: its address and credentials. A description names its secrets and
//! never contains them. Each use reads a secret from the environment or a file.

use std::path::PathBuf;

use jackfield_core::{agent::Share, units::Span};
use jackfield_kit::json::StrictObject;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Location of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schema(as = SecretSource)]
pub enum SecretLocation {
    /// Name of a variable in the hub's environment.
    Env(String),
    /// Path of a file on the hub's machine.
    #[schema(value_type = String)]
    File(PathBuf),
}

/// Fetches a token from an authorization server, by the OAuth 2.0 client credentials grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RemoteOAuth)]
pub struct OAuth {
    /// URL of the token endpoint.
    pub token_url: String,
    /// Client id of the hub.
    pub client_id: SecretLocation,
    /// Client secret of the hub.
    pub client_secret: SecretLocation,
    /// Scope of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<String>,
}

/// Credentials that the hub sends with each request to the remote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = RemoteAuth)]
pub struct Auth {
    /// Bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub bearer: Option<SecretLocation>,
    /// Headers by name, as a JSON object.
    #[serde(with = "as_object", skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = std::collections::BTreeMap<String, SecretLocation>, required = false)]
    pub headers: Vec<(String, SecretLocation)>,
    /// Bearer token that the hub fetches by OAuth 2.0.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe_object"
    )]
    #[schema(nullable = false)]
    pub oauth: Option<OAuth>,
}

/// Operator's description of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSpec {
    /// URL of the remote's card, or the address above the card.
    pub url: String,
    /// Credentials for the remote.
    #[serde(default)]
    pub auth: Auth,
    /// Timeout for a silent remote during a call; the hub's limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Sharing of the agent with other owners; unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
}

/// Reads an object and refuses a list, which serde would accept for a struct.
fn maybe_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    let object = Option::<StrictObject<T>>::deserialize(d)?;
    Ok(object.map(|object| object.0))
}

mod as_object {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::SecretLocation;

    pub(super) fn serialize<S: Serializer>(
        headers: &[(String, SecretLocation)],
        s: S,
    ) -> Result<S::Ok, S::Error> {
        s.collect_map(headers.iter().map(|(name, source)| (name, source)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Vec<(String, SecretLocation)>, D::Error> {
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
