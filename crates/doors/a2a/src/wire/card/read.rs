//! Reader for cards of other authors, in any generation: 0.2 and 0.3 have a `url` with a transport and
//! additional interfaces, 1.0 has a list of interfaces, and many cards have both.
//!
//! The reader requires only an object with a name. Values of the wrong type count as absent, and names may be
//! spelt `likeThis` or `like_this`. The text of the card is stored separately and keeps all other fields.

#[cfg(test)]
mod tests;

use std::fmt;

use jackfield_wire::json::{self, RawMembers};
use serde_json::value::RawValue;

use super::{Binding, CardExtension, Provider, Signature};

use crate::wire::official::{A2aVersion, fields::is_name};

/// Generation of the fields that name an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// `url` and `additionalInterfaces`, as in versions 0.2 and 0.3.
    Old,
    /// `supportedInterfaces`, as in version 1.0.
    New,
}

/// Interface in a card, with the card's own texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfferedInterface {
    /// URL of the interface.
    pub url: String,
    /// Name of the binding.
    pub binding: String,
    /// Protocol version.
    pub version: String,
    /// Required value of `tenant` in requests.
    pub tenant: Option<String>,
    /// Generation of the fields that named the interface.
    pub generation: Generation,
}

impl OfferedInterface {
    /// Returns the binding, if known.
    pub(crate) fn binding(&self) -> Option<Binding> {
        Binding::from_name(&self.binding)
    }

    /// Returns the version to use, if supported. Later versions 1.x are called with 1.0; versions before 0.3
    /// are similar enough to be called with 0.3.
    pub(crate) fn version(&self) -> Option<A2aVersion> {
        let mut numbers = self.version.trim().trim_start_matches('v').split('.');
        let major: u32 = numbers.next()?.parse().ok()?;
        let minor: u32 = numbers.next().unwrap_or("0").parse().ok()?;
        match (major, minor) {
            (0, 0..=3) => Some(A2aVersion::V03),
            (1, _) => Some(A2aVersion::V10),
            _ => None,
        }
    }
}

impl fmt::Display for OfferedInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.binding, self.version, self.url)
    }
}

/// Skill in another author's card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignSkill {
    /// Id of the skill, or the name if the id is absent.
    pub id: String,
    /// Display name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Search tags.
    pub tags: Vec<String>,
    /// Example requests.
    pub examples: Vec<String>,
    /// Accepted media types, if the skill declares any.
    pub input_modes: Vec<String>,
    /// Produced media types, if the skill declares any.
    pub output_modes: Vec<String>,
}

/// Card of another author.
#[derive(Debug, Clone)]
pub(crate) struct ForeignCard {
    /// Display name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Version of the agent.
    pub version: Option<String>,
    /// Provider of the agent.
    pub provider: Option<Provider>,
    /// URL of the documentation.
    pub documentation_url: Option<String>,
    /// Interfaces, in the card's order.
    pub offers: Vec<OfferedInterface>,
    /// True if the agent supports streaming.
    pub streams: bool,
    /// Supported extensions.
    pub extensions: Vec<CardExtension>,
    /// Accepted media types.
    pub input_modes: Vec<String>,
    /// Produced media types.
    pub output_modes: Vec<String>,
    /// Skills of the agent.
    pub skills: Vec<ForeignSkill>,
    /// Signatures; missing parts of a signature are empty.
    pub signatures: Vec<Signature>,
    /// True if the card demands credentials.
    pub wants_credentials: bool,
    /// Problems of fields that count as absent, by field name.
    pub dropped: Vec<String>,
}

/// Reason why a text is not a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadCard(String);

impl fmt::Display for BadCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadCard {}

impl ForeignCard {
    /// Reads a card. The caller checks that an interface can be called.
    pub(crate) fn read(text: &str) -> Result<Self, BadCard> {
        let bad = |why: &str| BadCard(why.to_owned());
        let raw: &RawValue = serde_json::from_str(text)
            .map_err(|error| BadCard(format!("it is not JSON: {error}")))?;
        let card = LenientObject::of(raw).ok_or_else(|| bad("it is not a JSON object"))?;
        let name = match card.get("name") {
            None => return Err(bad("name is required")),
            Some(name) => json::str_of(name).ok_or_else(|| bad("name must be a string"))?,
        };
        if name.trim().is_empty() {
            return Err(bad("name must not be empty"));
        }
        let capabilities = card.object("capabilities").unwrap_or_default();
        Ok(Self {
            name: name.into_owned(),
            description: card.word("description"),
            version: card.word("version"),
            provider: card.object("provider").and_then(|it| provider(&it)),
            documentation_url: card.word("documentationUrl"),
            offers: offers(&card),
            streams: capabilities.flag("streaming"),
            extensions: capabilities.list("extensions", extension),
            input_modes: card.words("defaultInputModes"),
            output_modes: card.words("defaultOutputModes"),
            skills: card.list("skills", skill),
            signatures: card.list("signatures", signature),
            wants_credentials: wants_credentials(&card),
            dropped: dropped(&card, &capabilities),
        })
    }
}

/// Returns true if every security option of the card demands credentials.
fn wants_credentials(card: &LenientObject<'_>) -> bool {
    fn names_scheme(raw: &RawValue) -> Option<bool> {
        let way = LenientObject::of(raw)?;
        // In 1.0 the schemes are in an object of their own.
        let schemes = way.object("schemes").unwrap_or(way);
        Some(schemes.0.iter().next().is_some())
    }
    let ways = ["securityRequirements", "security"].map(|name| card.list(name, names_scheme));
    let mut ways = ways.into_iter().flatten().peekable();
    ways.peek().is_some() && ways.all(|names_one| names_one)
}

/// Describes the fields of a wrong type, with the expected type.
fn dropped(card: &LenientObject<'_>, capabilities: &LenientObject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let flag = capabilities.get("streaming");
    if flag.is_some_and(|raw| !matches!(raw.get(), "true" | "false")) {
        found.push("capabilities.streaming must be true or false".to_owned());
    }
    let object = card.get("capabilities");
    if object.is_some_and(|raw| LenientObject::of(raw).is_none()) {
        found.push("capabilities must be an object".to_owned());
    }
    for name in ["defaultInputModes", "defaultOutputModes"] {
        let list = card.get(name);
        let elements = list.and_then(json::elements);
        let is_good = elements.is_some_and(|all| all.into_iter().all(json::is_string));
        if list.is_some() && !is_good {
            found.push(format!("{name} must be a list of strings"));
        }
    }
    let has_id = |raw: &RawValue| skill(raw).is_some();
    found.extend(wrong_elements(card, "skills", "id", has_id));
    let has_url =
        |raw: &RawValue| LenientObject::of(raw).is_some_and(|it| it.word("url").is_some());
    found.extend(wrong_elements(card, "supportedInterfaces", "url", has_url));
    found
}

/// Describes the problems of a list of objects that need a field.
fn wrong_elements(
    card: &LenientObject<'_>,
    name: &str,
    needed: &str,
    has_it: impl Fn(&RawValue) -> bool,
) -> Vec<String> {
    let Some(list) = card.get(name) else {
        return Vec::new();
    };
    let Some(elements) = json::elements(list) else {
        return vec![format!("{name} must be a list")];
    };
    let wrong = |(at, element)| match LenientObject::of(element) {
        None => Some(format!("{name}[{at}] must be an object")),
        Some(_) if !has_it(element) => Some(format!("{name}[{at}].{needed} is required")),
        Some(_) => None,
    };
    elements.into_iter().enumerate().filter_map(wrong).collect()
}

/// Returns all interfaces of a card, new generation first.
fn offers(card: &LenientObject<'_>) -> Vec<OfferedInterface> {
    let version = card.word("protocolVersion");
    // Drafts of 1.0 had a single version for all interfaces. In a card of both generations, the single
    // version is the old one.
    let is_new = |version: &&String| version.starts_with('1');
    let new_version = version.as_ref().filter(is_new);
    let new_version = new_version.map_or(A2aVersion::V10.name(), String::as_str);
    let mut offers = card.list("supportedInterfaces", |raw| {
        let interface = LenientObject::of(raw)?;
        let binding = interface.word("protocolBinding");
        let version = interface.word("protocolVersion");
        Some(OfferedInterface {
            url: interface.word("url")?,
            binding: binding
                .or_else(|| interface.word("transport"))
                .unwrap_or_else(|| Binding::JsonRpc.name().to_owned()),
            version: version.unwrap_or_else(|| new_version.to_owned()),
            tenant: interface.word("tenant"),
            generation: Generation::New,
        })
    });
    let old = |url, binding: Option<String>| OfferedInterface {
        url,
        binding: binding.unwrap_or_else(|| Binding::JsonRpc.name().to_owned()),
        version: version
            .clone()
            .unwrap_or_else(|| A2aVersion::V03.name().to_owned()),
        tenant: None,
        generation: Generation::Old,
    };
    let first = card.word("url");
    offers.extend(first.map(|url| old(url, card.word("preferredTransport"))));
    offers.extend(card.list("additionalInterfaces", |raw| {
        let interface = LenientObject::of(raw)?;
        Some(old(interface.word("url")?, interface.word("transport")))
    }));
    offers
}

fn extension(raw: &RawValue) -> Option<CardExtension> {
    let extension = LenientObject::of(raw)?;
    Some(CardExtension {
        uri: extension.word("uri")?,
        description: extension.word("description"),
        required: extension.flag("required"),
        params: extension.get("params").map(ToOwned::to_owned),
    })
}

/// Reads a provider. Both fields are required.
fn provider(provider: &LenientObject<'_>) -> Option<Provider> {
    Some(Provider {
        organization: provider.word("organization")?,
        url: provider.word("url")?,
    })
}

fn skill(raw: &RawValue) -> Option<ForeignSkill> {
    let skill = LenientObject::of(raw)?;
    let name = skill.word("name");
    Some(ForeignSkill {
        id: skill.word("id").or_else(|| name.clone())?,
        name,
        description: skill.word("description"),
        tags: skill.words("tags"),
        examples: skill.words("examples"),
        input_modes: skill.words("inputModes"),
        output_modes: skill.words("outputModes"),
    })
}

/// Reads a signature of any form: an unreadable signature must not look like a missing signature.
#[expect(clippy::unnecessary_wraps, reason = "the reader of an element")]
fn signature(raw: &RawValue) -> Option<Signature> {
    let signature = LenientObject::of(raw).unwrap_or_default();
    Some(Signature {
        protected: signature.word("protected").unwrap_or_default(),
        signature: signature.word("signature").unwrap_or_default(),
    })
}

/// JSON object with lenient access: a member of the wrong type counts as absent.
#[derive(Default)]
struct LenientObject<'a>(RawMembers<'a>);

impl<'a> LenientObject<'a> {
    fn of(raw: &'a RawValue) -> Option<Self> {
        RawMembers::of(raw).map(Self)
    }

    /// Returns the value of a field; the official spelling has precedence.
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).or_else(|| {
            let mut members = self.0.iter();
            let member = members.find(|member| is_name(&member.name, name))?;
            (!json::is_null(member.value)).then_some(member.value)
        })
    }

    /// Returns a text unless blank.
    fn word(&self, name: &str) -> Option<String> {
        let text = json::str_of(self.get(name)?)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns true if the field is `true`.
    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|raw| raw.get() == "true")
    }

    fn object(&self, name: &str) -> Option<LenientObject<'a>> {
        LenientObject::of(self.get(name)?)
    }

    /// Reads the elements of a list by `read`.
    fn list<T>(&self, name: &str, read: impl Fn(&'a RawValue) -> Option<T>) -> Vec<T> {
        let elements = self.get(name).and_then(json::elements);
        elements
            .unwrap_or_default()
            .into_iter()
            .filter_map(read)
            .collect()
    }

    fn words(&self, name: &str) -> Vec<String> {
        self.list(name, |raw| {
            let text = json::str_of(raw)?;
            (!text.is_empty()).then(|| text.into_owned())
        })
    }
}
