//! Texts that the signature of another author's card may cover.
//!
//! Signers sign the canonical form of the fields that they know and leave out values that they consider
//! unset. Servers then add fields for readers of the other generation. The check therefore tries several
//! texts. Each text contains the interfaces of the requested generation: a signature over a text without
//! interfaces would prove nothing about the used fields.

#[cfg(test)]
mod tests;

use jackfield_wire::json::{RawMembers, elements, push_string};
use serde_json::value::RawValue;

use super::{
    Generation,
    canonical::{EmptyValues, ascii, canonical},
};

use crate::wire::{
    official::fields::is_name,
    write::{MembersOut, to_json},
};

/// Returns the texts that a signature of the card may cover, with the interfaces of `generation`. Returns an
/// empty list if the card is not an object or nests too deep.
pub(crate) fn forms(card: &str, generation: Generation) -> Vec<String> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(card) else {
        return Vec::new();
    };
    let Some(members) = RawMembers::of(raw) else {
        return Vec::new();
    };
    let whole = unsigned(&members);
    let known = match generation {
        Generation::Old => &OLD,
        Generation::New => &NEW,
    };
    let mut forms = vec![
        canonical(&whole, EmptyValues::Kept),
        canonical(&whole, EmptyValues::Dropped),
    ];
    for defaults in [DefaultValues::Kept, DefaultValues::Dropped] {
        let mut pruned = String::with_capacity(card.len());
        if !known.push(&mut pruned, raw, defaults) {
            continue;
        }
        for empty in [EmptyValues::Kept, EmptyValues::Dropped] {
            let form = canonical(&pruned, empty);
            // The published SDK of 0.3 writes ASCII in place of RFC 8785.
            if generation == Generation::Old {
                forms.push(form.as_deref().map(|form| ascii(form).into_owned()));
            }
            forms.push(form);
        }
    }
    let mut texts: Vec<String> = Vec::new();
    for text in forms.into_iter().flatten() {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// Returns the card without its signatures.
fn unsigned(members: &RawMembers<'_>) -> String {
    let members = members.iter();
    let rest: Vec<_> = members
        .filter(|member| member.name != "signatures")
        .cloned()
        .collect();
    to_json(&MembersOut(&rest))
}

/// Treatment of default values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefaultValues {
    Kept,
    Dropped,
}

/// Schema of a value in a card.
enum FieldSchema {
    /// The value is kept unchanged.
    Any,
    /// The value is left out if equal to the default and defaults are dropped.
    Default(&'static str),
    /// The value is left out if defaults are dropped.
    Implied,
    /// Object with exactly these members.
    Object(&'static [(&'static str, FieldSchema)]),
    /// Object whose members all have this schema.
    Map(&'static FieldSchema),
    /// List whose elements have this schema.
    List(&'static FieldSchema),
}

impl FieldSchema {
    /// Appends the known content of a value. Returns false if the value is left out.
    fn push(&self, out: &mut String, raw: &RawValue, defaults: DefaultValues) -> bool {
        let is_dropped = match self {
            Self::Default(default) => defaults == DefaultValues::Dropped && raw.get() == *default,
            Self::Implied => defaults == DefaultValues::Dropped,
            Self::Any | Self::Object(_) | Self::Map(_) | Self::List(_) => false,
        };
        if is_dropped {
            return false;
        }
        match self {
            Self::Object(fields) => {
                if let Some(members) = RawMembers::of(raw) {
                    push_members(out, &members, defaults, |name| {
                        let mut fields = fields.iter();
                        fields
                            .find(|(field, _)| is_name(name, field))
                            .map(|(field, known)| (*field, known))
                    });
                    return true;
                }
            }
            Self::Map(known) => {
                if let Some(members) = RawMembers::of(raw) {
                    push_members(out, &members, defaults, |name| Some((name, known)));
                    return true;
                }
            }
            Self::List(known) => {
                if let Some(elements) = elements(raw) {
                    push_elements(out, &elements, defaults, known);
                    return true;
                }
            }
            Self::Any | Self::Default(_) | Self::Implied => {}
        }
        out.push_str(raw.get());
        true
    }
}

fn push_members<'n>(
    out: &mut String,
    members: &'n RawMembers<'_>,
    defaults: DefaultValues,
    known: impl Fn(&'n str) -> Option<(&'n str, &'static FieldSchema)>,
) {
    out.push('{');
    let mut is_first = true;
    for member in members.iter() {
        let Some((name, known)) = known(&member.name) else {
            continue;
        };
        let start = out.len();
        if !is_first {
            out.push(',');
        }
        push_string(out, name);
        out.push(':');
        if known.push(out, member.value, defaults) {
            is_first = false;
        } else {
            out.truncate(start);
        }
    }
    out.push('}');
}

fn push_elements(
    out: &mut String,
    elements: &[&RawValue],
    defaults: DefaultValues,
    known: &FieldSchema,
) {
    out.push('[');
    let mut is_first = true;
    for element in elements {
        if !is_first {
            out.push(',');
        }
        is_first = false;
        if !known.push(out, element, defaults) {
            out.push_str("null");
        }
    }
    out.push(']');
}

use FieldSchema::{Any, Default, Implied, List, Map, Object};

/// Fields of version 1.0. Flags without presence in the schema count as false when absent.
static NEW: FieldSchema = Object(&[
    ("name", Any),
    ("description", Any),
    ("supportedInterfaces", List(&NEW_INTERFACE)),
    ("provider", PROVIDER),
    ("version", Any),
    ("documentationUrl", Any),
    (
        "capabilities",
        Object(&[
            ("streaming", Any),
            ("pushNotifications", Any),
            ("extensions", List(&EXTENSION)),
            ("extendedAgentCard", Any),
        ]),
    ),
    ("securitySchemes", Map(&NEW_SCHEME)),
    ("securityRequirements", List(&NEW_REQUIREMENT)),
    ("defaultInputModes", Any),
    ("defaultOutputModes", Any),
    ("skills", List(&NEW_SKILL)),
    ("iconUrl", Any),
]);
static NEW_INTERFACE: FieldSchema = Object(&[
    ("url", Any),
    ("protocolBinding", Any),
    ("tenant", Any),
    ("protocolVersion", Any),
]);
static NEW_SKILL: FieldSchema = Object(&[
    ("id", Any),
    ("name", Any),
    ("description", Any),
    ("tags", Any),
    ("examples", Any),
    ("inputModes", Any),
    ("outputModes", Any),
    ("securityRequirements", List(&NEW_REQUIREMENT)),
]);
static NEW_REQUIREMENT: FieldSchema = Object(&[("schemes", Map(&Object(&[("list", Any)])))]);
static NEW_SCHEME: FieldSchema = Object(&[
    (
        "apiKeySecurityScheme",
        Object(&[("description", Any), ("location", Any), ("name", Any)]),
    ),
    (
        "httpAuthSecurityScheme",
        Object(&[("description", Any), ("scheme", Any), ("bearerFormat", Any)]),
    ),
    (
        "oauth2SecurityScheme",
        Object(&[
            ("description", Any),
            ("flows", FLOWS),
            ("oauth2MetadataUrl", Any),
        ]),
    ),
    (
        "openIdConnectSecurityScheme",
        Object(&[("description", Any), ("openIdConnectUrl", Any)]),
    ),
    ("mtlsSecurityScheme", Object(&[("description", Any)])),
]);

/// Fields of version 0.3.
static OLD: FieldSchema = Object(&[
    ("protocolVersion", Default("\"0.3.0\"")),
    ("name", Any),
    ("description", Any),
    ("url", Any),
    ("preferredTransport", Default("\"JSONRPC\"")),
    (
        "additionalInterfaces",
        List(&Object(&[("url", Any), ("transport", Any)])),
    ),
    ("iconUrl", Any),
    ("provider", PROVIDER),
    ("version", Any),
    ("documentationUrl", Any),
    (
        "capabilities",
        Object(&[
            ("streaming", Any),
            ("pushNotifications", Any),
            ("stateTransitionHistory", Any),
            ("extensions", List(&OLD_EXTENSION)),
        ]),
    ),
    ("securitySchemes", Map(&OLD_SCHEME)),
    ("security", Any),
    ("defaultInputModes", Any),
    ("defaultOutputModes", Any),
    ("skills", List(&OLD_SKILL)),
    ("supportsAuthenticatedExtendedCard", Any),
]);
static OLD_EXTENSION: FieldSchema = Object(&[
    ("uri", Any),
    ("description", Any),
    ("required", Any),
    ("params", Any),
]);
static OLD_SKILL: FieldSchema = Object(&[
    ("id", Any),
    ("name", Any),
    ("description", Any),
    ("tags", Any),
    ("examples", Any),
    ("inputModes", Any),
    ("outputModes", Any),
    ("security", Any),
]);
static OLD_SCHEME: FieldSchema = Object(&[
    // Each kind of scheme has a fixed type, which readers add themselves.
    ("type", Implied),
    ("description", Any),
    ("name", Any),
    ("in", Any),
    ("scheme", Any),
    ("bearerFormat", Any),
    ("flows", FLOWS),
    ("oauth2MetadataUrl", Any),
    ("openIdConnectUrl", Any),
]);

const PROVIDER: FieldSchema = Object(&[("organization", Any), ("url", Any)]);
static EXTENSION: FieldSchema = Object(&[
    ("uri", Any),
    ("description", Any),
    ("required", Default("false")),
    ("params", Any),
]);
const FLOWS: FieldSchema = Object(&[
    ("authorizationCode", FLOW),
    ("clientCredentials", FLOW),
    ("implicit", FLOW),
    ("password", FLOW),
    ("deviceCode", FLOW),
]);
const FLOW: FieldSchema = Object(&[
    ("authorizationUrl", Any),
    ("deviceAuthorizationUrl", Any),
    ("tokenUrl", Any),
    ("refreshUrl", Any),
    ("scopes", Any),
    ("pkceRequired", Default("false")),
]);
