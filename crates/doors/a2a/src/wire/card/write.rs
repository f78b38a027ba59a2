//! Writer for cards.
//!
//! The two generations share most names. If the spelling differs, a card for [`CardAudience::Any`] has both names.
//! If the same name has a different content (security schemes), both contents are merged, because each reader
//! looks only for its own members.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    A2aCard, BEARER, Binding, CardAudience, CardExtension, CardSkill, Interface, Provider,
    Signature,
};

use crate::wire::{official::A2aVersion, write::to_json};

/// Full version number that readers of 0.3 expect.
const VERSION_03: &str = "0.3.0";
/// Description of the token's security scheme.
const TOKEN: &str = "A token of this hub, as Authorization: Bearer TOKEN.";

/// Treatment of values that readers of 0.3 add by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteDefaults {
    Written,
    Omitted,
}

/// Card with the fields of both generations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CardOut<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported_interfaces: Option<Vec<InterfaceOut<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_transport: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_interfaces: Option<Vec<TransportOut<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_authenticated_extended_card: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
    capabilities: CapabilitiesOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_schemes: Option<OfBearer<SchemeOut>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_requirements: Option<[RequirementOut; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<[OfBearer<[&'static str; 0]>; 1]>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<SkillOut<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [Signature],
}

/// Interface in 1.0.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InterfaceOut<'a> {
    url: &'a str,
    protocol_binding: &'static str,
    protocol_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
}

/// Interface in 0.3.
#[derive(Debug, Serialize)]
struct TransportOut<'a> {
    url: &'a str,
    transport: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CapabilitiesOut<'a> {
    streaming: bool,
    push_notifications: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_transition_history: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended_agent_card: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<ExtensionOut<'a>>,
}

#[derive(Debug, Serialize)]
struct ExtensionOut<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// Object with a single member: the name of the only security scheme.
#[derive(Debug, Serialize)]
struct OfBearer<T> {
    bearer: T,
}

/// Security scheme, with the members of both generations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SchemeOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_auth_security_scheme: Option<HttpSchemeOut>,
}

#[derive(Debug, Serialize)]
struct HttpSchemeOut {
    scheme: &'static str,
    description: &'static str,
}

/// Security requirement in 1.0.
#[derive(Debug, Serialize)]
struct RequirementOut {
    schemes: OfBearer<NoScopes>,
}

/// Empty list of scopes, written as an empty object.
#[derive(Debug, Serialize)]
struct NoScopes {}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SkillOut<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_modes: &'a [String],
}

impl A2aCard {
    /// Serializes the card to JSON.
    pub(crate) fn to_json(&self, reader: CardAudience) -> String {
        self.write(reader, WriteDefaults::Written, true)
    }

    pub(super) fn write(
        &self,
        reader: CardAudience,
        defaults: WriteDefaults,
        with_signatures: bool,
    ) -> String {
        let is_new = reader.takes(A2aVersion::V10);
        let is_old = reader.takes(A2aVersion::V03);
        let interfaces = || self.interfaces.iter().map(Interface::out).collect();
        // Without an interface of 0.3 the preferred interface is written, so that readers of 0.3 can read the
        // card at all.
        let places = if is_old {
            self.places_v03()
        } else {
            Vec::new()
        };
        let first = places.first().copied();
        let is_written = |first: &&Interface| {
            defaults == WriteDefaults::Written || first.binding != Binding::JsonRpc
        };
        let transports = || places.iter().map(|place| place.transport_out()).collect();
        to_json(&CardOut {
            name: &self.name,
            description: &self.description,
            version: &self.version,
            supported_interfaces: is_new.then(interfaces),
            protocol_version: first
                .filter(|_| defaults == WriteDefaults::Written)
                .map(|_| VERSION_03),
            url: first.map(|first| first.url.as_str()),
            preferred_transport: first.filter(is_written).map(|first| first.binding.name()),
            additional_interfaces: first.map(|_| transports()),
            supports_authenticated_extended_card: first.map(|_| true),
            provider: self.provider.as_ref(),
            documentation_url: self.documentation_url.as_deref(),
            icon_url: self.icon_url.as_deref(),
            capabilities: CapabilitiesOut {
                streaming: true,
                push_notifications: self.pushes,
                state_transition_history: is_old.then_some(false),
                extended_agent_card: is_new.then_some(true),
                extensions: self.extensions.iter().map(CardExtension::out).collect(),
            },
            security_schemes: self.needs_token.then(|| scheme(reader, defaults)),
            security_requirements: (self.needs_token && is_new).then_some([RequirementOut {
                schemes: OfBearer {
                    bearer: NoScopes {},
                },
            }]),
            security: (self.needs_token && is_old).then_some([OfBearer { bearer: [] }]),
            default_input_modes: &self.input_modes,
            default_output_modes: &self.output_modes,
            skills: self.skills.iter().map(CardSkill::out).collect(),
            signatures: if with_signatures {
                &self.signatures
            } else {
                &[]
            },
        })
    }

    /// Returns the interfaces for readers of 0.3.
    fn places_v03(&self) -> Vec<&Interface> {
        let is_old = |interface: &&Interface| interface.version == A2aVersion::V03;
        let mut places: Vec<_> = self.interfaces.iter().filter(is_old).collect();
        if places.is_empty() {
            places.extend(self.interfaces.first());
        }
        places
    }
}

fn scheme(reader: CardAudience, defaults: WriteDefaults) -> OfBearer<SchemeOut> {
    let is_old = reader.takes(A2aVersion::V03);
    let has_type = is_old && defaults == WriteDefaults::Written;
    let new = HttpSchemeOut {
        scheme: BEARER,
        description: TOKEN,
    };
    OfBearer {
        bearer: SchemeOut {
            r#type: has_type.then_some("http"),
            scheme: is_old.then_some(BEARER),
            description: is_old.then_some(TOKEN),
            http_auth_security_scheme: reader.takes(A2aVersion::V10).then_some(new),
        },
    }
}

impl Interface {
    fn out(&self) -> InterfaceOut<'_> {
        InterfaceOut {
            url: &self.url,
            protocol_binding: self.binding.name(),
            protocol_version: self.version.name(),
            tenant: self.tenant.as_deref(),
        }
    }

    fn transport_out(&self) -> TransportOut<'_> {
        TransportOut {
            url: &self.url,
            transport: self.binding.name(),
        }
    }
}

impl CardExtension {
    fn out(&self) -> ExtensionOut<'_> {
        ExtensionOut {
            uri: &self.uri,
            description: self.description.as_deref(),
            required: self.required.then_some(true),
            params: self.params.as_deref(),
        }
    }
}

impl CardSkill {
    fn out(&self) -> SkillOut<'_> {
        SkillOut {
            id: &self.id,
            name: &self.name,
            description: &self.description,
            tags: &self.tags,
            examples: &self.examples,
            input_modes: &self.input_modes,
            output_modes: &self.output_modes,
        }
    }
}
