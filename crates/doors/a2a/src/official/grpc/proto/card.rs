//! Agent card in protobuf. The door writes cards as JSON, and the messages deserialize from the JSON: their
//! field names in JSON are the protocol's, and unknown fields are left out.

use std::collections::BTreeMap;

use prost_types::Struct;
use serde::{Deserialize, Deserializer};

use crate::official::grpc::json::JsonValue;

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::official::grpc) struct AgentCard {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(message, repeated, tag = "3")]
    supported_interfaces: Vec<AgentInterface>,
    #[prost(message, optional, tag = "4")]
    provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    version: String,
    #[prost(string, optional, tag = "6")]
    documentation_url: Option<String>,
    #[prost(message, optional, tag = "7")]
    capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    security_requirements: Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    skills: Vec<AgentSkill>,
    #[prost(message, repeated, tag = "13")]
    signatures: Vec<AgentCardSignature>,
    #[prost(string, optional, tag = "14")]
    icon_url: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AgentInterface {
    #[prost(string, tag = "1")]
    url: String,
    #[prost(string, tag = "2")]
    protocol_binding: String,
    #[prost(string, tag = "3")]
    tenant: String,
    #[prost(string, tag = "4")]
    protocol_version: String,
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
    #[prost(bool, optional, tag = "1")]
    streaming: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    push_notifications: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    extensions: Vec<AgentExtension>,
    #[prost(bool, optional, tag = "4")]
    extended_agent_card: Option<bool>,
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
    #[serde(deserialize_with = "maybe_struct")]
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
    #[prost(message, repeated, tag = "8")]
    security_requirements: Vec<SecurityRequirement>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct AgentCardSignature {
    #[prost(string, tag = "1")]
    protected: String,
    #[prost(string, tag = "2")]
    signature: String,
    #[prost(message, optional, tag = "3")]
    #[serde(deserialize_with = "maybe_struct")]
    header: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct SecurityRequirement {
    #[prost(btree_map = "string, message", tag = "1")]
    schemes: BTreeMap<String, StringList>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct StringList {
    #[prost(string, repeated, tag = "1")]
    list: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
struct SecurityScheme {
    #[prost(oneof = "Scheme", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    scheme: Option<Scheme>,
}

#[derive(Clone, PartialEq, prost::Oneof, Deserialize)]
enum Scheme {
    #[prost(message, tag = "1")]
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKey),
    #[prost(message, tag = "2")]
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuth),
    #[prost(message, tag = "3")]
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2),
    #[prost(message, tag = "4")]
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnect),
    #[prost(message, tag = "5")]
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTls),
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct ApiKey {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    location: String,
    #[prost(string, tag = "3")]
    name: String,
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

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OAuth2 {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(message, optional, tag = "2")]
    flows: Option<OAuthFlows>,
    #[prost(string, tag = "3")]
    oauth2_metadata_url: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OpenIdConnect {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    open_id_connect_url: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
struct MutualTls {
    #[prost(string, tag = "1")]
    description: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
struct OAuthFlows {
    #[prost(oneof = "Flow", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    flow: Option<Flow>,
}

#[derive(Clone, PartialEq, prost::Oneof, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Flow {
    #[prost(message, tag = "1")]
    AuthorizationCode(AuthorizationCode),
    #[prost(message, tag = "2")]
    ClientCredentials(TokenFlow),
    #[prost(message, tag = "3")]
    Implicit(Implicit),
    #[prost(message, tag = "4")]
    Password(TokenFlow),
    #[prost(message, tag = "5")]
    DeviceCode(DeviceCode),
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AuthorizationCode {
    #[prost(string, tag = "1")]
    authorization_url: String,
    #[prost(string, tag = "2")]
    token_url: String,
    #[prost(string, tag = "3")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    scopes: BTreeMap<String, String>,
    #[prost(bool, tag = "5")]
    pkce_required: bool,
}

/// OAuth flow for client credentials and for passwords; both have the same fields.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TokenFlow {
    #[prost(string, tag = "1")]
    token_url: String,
    #[prost(string, tag = "2")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Implicit {
    #[prost(string, tag = "1")]
    authorization_url: String,
    #[prost(string, tag = "2")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeviceCode {
    #[prost(string, tag = "1")]
    device_authorization_url: String,
    #[prost(string, tag = "2")]
    token_url: String,
    #[prost(string, tag = "3")]
    refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    scopes: BTreeMap<String, String>,
}

/// Reads an object of any shape; other JSON becomes `None`.
fn maybe_struct<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Struct>, D::Error> {
    Ok(JsonValue::deserialize(deserializer)?.into_struct())
}
