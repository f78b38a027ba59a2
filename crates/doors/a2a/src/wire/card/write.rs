//! The writing of cards.
//!
//! The two generations share most names. Where they spell one differently, a card for [`Reader::Any`] says both; where
//! the same name holds another thing (security schemes), the two lie over each other, since each reader looks only for
//! its own members.

use jackfield_wire::json::ObjectWriter;

use super::{BEARER, Binding, Card, Extension, Interface, Reader, Skill};

use crate::wire::official::Version;

/// The version that readers of 0.3 expect, in full.
const VERSION_03: &str = "0.3.0";
/// What is said of the token.
const TOKEN: &str = "A token of this hub, as Authorization: Bearer TOKEN.";

/// Whether values are written that readers of 0.3 would put in themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defaults {
    Written,
    Omitted,
}

impl Card {
    /// The card as JSON.
    pub(crate) fn to_json(&self, reader: Reader) -> String {
        self.write(reader, Defaults::Written, true)
    }

    pub(super) fn write(
        &self,
        reader: Reader,
        defaults: Defaults,
        with_signatures: bool,
    ) -> String {
        let mut out = String::with_capacity(4 << 10);
        let mut card = ObjectWriter::open(&mut out);
        card.text("name", self.name.as_str())
            .text("description", self.description.as_str())
            .text("version", self.version.as_str());
        if reader.takes(Version::V10) {
            card.list("supportedInterfaces", &self.interfaces, |out, interface| {
                interface.write_v10(out);
            });
        }
        if reader.takes(Version::V03) {
            self.write_places_v03(&mut card, defaults);
        }
        if let Some(provider) = &self.provider {
            card.object("provider", |object| {
                object
                    .text("organization", provider.organization.as_str())
                    .text("url", provider.url.as_str());
            });
        }
        card.maybe_text("documentationUrl", self.documentation_url.as_deref())
            .maybe_text("iconUrl", self.icon_url.as_deref());
        self.write_capabilities(&mut card, reader);
        if self.needs_token {
            write_security(&mut card, reader, defaults);
        }
        card.texts("defaultInputModes", &self.input_modes)
            .texts("defaultOutputModes", &self.output_modes)
            .list("skills", &self.skills, |out, skill| skill.write(out));
        if with_signatures && !self.signatures.is_empty() {
            card.list("signatures", &self.signatures, |out, signature| {
                signature.write(out);
            });
        }
        card.close();
        out
    }

    /// Where readers of 0.3 call: the places of that version, else the best one, so that they can read the card at all.
    fn write_places_v03(&self, card: &mut ObjectWriter<'_>, defaults: Defaults) {
        let is_old = |interface: &&Interface| interface.version == Version::V03;
        let mut places: Vec<_> = self.interfaces.iter().filter(is_old).collect();
        if places.is_empty() {
            places.extend(self.interfaces.first());
        }
        let Some(first) = places.first() else { return };
        if defaults == Defaults::Written {
            card.text("protocolVersion", VERSION_03);
        }
        card.text("url", first.url.as_str());
        if defaults == Defaults::Written || first.binding != Binding::JsonRpc {
            card.text("preferredTransport", first.binding.name());
        }
        card.list("additionalInterfaces", &places, |out, place| {
            let mut object = ObjectWriter::open(out);
            object
                .text("url", place.url.as_str())
                .text("transport", place.binding.name());
            object.close();
        });
        card.flag("supportsAuthenticatedExtendedCard", true);
    }

    fn write_capabilities(&self, card: &mut ObjectWriter<'_>, reader: Reader) {
        card.object("capabilities", |object| {
            object
                .flag("streaming", true)
                .flag("pushNotifications", self.pushes);
            if reader.takes(Version::V03) {
                object.flag("stateTransitionHistory", false);
            }
            if reader.takes(Version::V10) {
                object.flag("extendedAgentCard", true);
            }
            if !self.extensions.is_empty() {
                object.list("extensions", &self.extensions, |out, extension| {
                    extension.write(out);
                });
            }
        });
    }
}

fn write_security(card: &mut ObjectWriter<'_>, reader: Reader, defaults: Defaults) {
    card.object("securitySchemes", |schemes| {
        schemes.object(BEARER, |scheme| {
            if reader.takes(Version::V03) {
                if defaults == Defaults::Written {
                    scheme.text("type", "http");
                }
                scheme.text("scheme", BEARER).text("description", TOKEN);
            }
            if reader.takes(Version::V10) {
                scheme.object("httpAuthSecurityScheme", |scheme| {
                    scheme.text("scheme", BEARER).text("description", TOKEN);
                });
            }
        });
    });
    if reader.takes(Version::V10) {
        card.list("securityRequirements", &[()], |out, ()| {
            let mut requirement = ObjectWriter::open(out);
            requirement.object("schemes", |schemes| {
                // No scopes: an empty list is written as none.
                schemes.object(BEARER, |_| {});
            });
            requirement.close();
        });
    }
    if reader.takes(Version::V03) {
        card.list("security", &[()], |out, ()| {
            let mut requirement = ObjectWriter::open(out);
            requirement.texts::<&str>(BEARER, &[]);
            requirement.close();
        });
    }
}

impl Interface {
    fn write_v10(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("url", self.url.as_str())
            .text("protocolBinding", self.binding.name())
            .text("protocolVersion", self.version.name())
            .maybe_text("tenant", self.tenant.as_deref());
        object.close();
    }
}

impl Extension {
    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("uri", self.uri.as_str())
            .maybe_text("description", self.description.as_deref());
        if self.required {
            object.flag("required", true);
        }
        object.maybe_raw("params", self.params.as_deref());
        object.close();
    }
}

impl Skill {
    fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object
            .text("id", self.id.as_str())
            .text("name", self.name.as_str())
            .text("description", self.description.as_str())
            .texts("tags", &self.tags);
        for (name, texts) in [
            ("examples", &self.examples),
            ("inputModes", &self.input_modes),
            ("outputModes", &self.output_modes),
        ] {
            if !texts.is_empty() {
                object.texts(name, texts);
            }
        }
        object.close();
    }
}
