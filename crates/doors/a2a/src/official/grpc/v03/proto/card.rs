//! Agent card of 0.3 in protobuf, read from the JSON in which the door writes cards. Fields that the door never writes are
//! left out.

use std::collections::BTreeMap;

use prost_types::Struct;
use serde::{Deserialize, Deserializer};

use crate::official::grpc::json::JsonValue;

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::official::grpc) struct AgentCard {
    #[prost(string, tag = "16")]
    protocol_version: String,
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    url: String,
    #[prost(string, tag = "14")]
    preferred_transport: String,
    #[prost(message, repeated, tag = "15")]
    additional_interfaces: Vec<AgentInterface>,
    #[prost(message, optional, tag = "4")]
    provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    version: String,
    #[prost(string, tag = "6")]
    documentation_url: String,
    #[prost(message, optional, tag = "7")]
    capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    #[serde(deserialize_with = "schemes")]
    security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    security: Vec<Security>,
    #[prost(string, repeated, tag = "10")]
    default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    skills: Vec<AgentSkill>,
    #[prost(bool, tag = "13")]
    supports_authenticated_extended_card: bool,
    #[prost(message, repeated, tag = "17")]
    signatures: Vec<AgentCardSignature>,
    #[prost(string, tag = "18")]
    icon_url: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct AgentInterface {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    transport: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct AgentProvider {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    organization: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AgentCapabilities {
    #[prost(bool, tag = "1")]
    streaming: bool,
    #[prost(bool, tag = "2")]
    push_notifications: bool,
    #[prost(message, repeated, tag = "3")]
    extensions: Vec<AgentExtension>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct AgentExtension {
    #[prost(string, tag = "1")]
    uri: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(bool, tag = "3")]
    required: bool,
    #[prost(message, optional, tag = "4")]
    #[serde(deserialize_with = "object")]
    params: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AgentSkill {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, repeated, tag = "4")]
    tags: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    examples: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    input_modes: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    output_modes: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct AgentCardSignature {
    #[prost(string, tag = "1")]
    protected: String,
    #[prost(string, tag = "2")]
    signature: String,
    #[prost(message, optional, tag = "3")]
    #[serde(deserialize_with = "object")]
    header: Option<Struct>,
}

/// Schemes that are needed together, each with its scopes.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(transparent)]
struct Security {
    #[prost(btree_map = "string, message", tag = "1")]
    schemes: BTreeMap<String, StringList>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(transparent)]
struct StringList {
    #[prost(string, repeated, tag = "1")]
    list: Vec<String>,
}

/// A scheme. The door's cards name HTTP authentication only.
#[derive(Clone, PartialEq, prost::Message)]
struct SecurityScheme {
    #[prost(message, optional, tag = "2")]
    http_auth: Option<HttpAuth>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HttpAuth {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    scheme: String,
    #[prost(string, tag = "3")]
    bearer_format: String,
}

fn schemes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, SecurityScheme>, D::Error> {
    let schemes = BTreeMap::<String, HttpAuth>::deserialize(deserializer)?;
    let scheme = |(name, http)| {
        (
            name,
            SecurityScheme {
                http_auth: Some(http),
            },
        )
    };
    Ok(schemes.into_iter().map(scheme).collect())
}

/// Reads an object of any shape; other JSON becomes `None`.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Struct>, D::Error> {
    Ok(JsonValue::deserialize(deserializer)?.into_struct())
}
