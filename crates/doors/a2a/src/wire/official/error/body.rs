//! The bodies that tell of an error.

use jackfield_wire::json::ObjectWriter;

use super::{super::Version, Fault};

/// Whose reasons these are.
pub(super) const DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

impl Fault {
    /// Whose reasons [`Self::reason`] gives.
    pub(crate) const DOMAIN: &'static str = DOMAIN;

    /// The body of a response over HTTP, in the REST binding of a version.
    pub(crate) fn rest_body(&self, version: Version) -> String {
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        match version {
            Version::V03 => {
                object
                    .integer("code", self.code())
                    .text("message", self.message.as_str());
                self.put_old_data(&mut object);
            }
            Version::V10 => {
                object.object("error", |error| {
                    error
                        .number("code", u64::from(self.http_status(version)))
                        .text("status", self.status_name())
                        .text("message", self.message.as_str());
                    self.put_details("details", error);
                });
            }
        }
        object.close();
        out
    }

    /// Adds what the error of a JSON-RPC response holds.
    pub(in crate::wire::official) fn put_rpc(
        &self,
        version: Version,
        object: &mut ObjectWriter<'_>,
    ) {
        object
            .integer("code", self.code())
            .text("message", self.message.as_str());
        match version {
            Version::V03 => self.put_old_data(object),
            Version::V10 => self.put_details("data", object),
        }
    }

    /// What 1.0 tells programs.
    fn put_details(&self, name: &str, object: &mut ObjectWriter<'_>) {
        enum Detail {
            Info,
            Violations,
        }
        let details: &[Detail] = if self.violations.is_empty() {
            &[Detail::Info]
        } else {
            &[Detail::Info, Detail::Violations]
        };
        object.list(name, details, |out, detail| {
            let mut object = ObjectWriter::open(out);
            match detail {
                Detail::Info => {
                    object
                        .text("@type", ERROR_INFO)
                        .text("reason", self.reason())
                        .text("domain", DOMAIN);
                    if !self.metadata.is_empty() {
                        object.object("metadata", |object| self.put_metadata(object));
                    }
                }
                Detail::Violations => {
                    object.text("@type", BAD_REQUEST);
                    self.put_violations(&mut object);
                }
            }
            object.close();
        });
    }

    /// The same in 0.3, which leaves open what it looks like.
    fn put_old_data(&self, object: &mut ObjectWriter<'_>) {
        object.object("data", |object| {
            object.text("reason", self.reason());
            if let [(field, _)] = self.violations.as_slice() {
                object.text("field", field.as_str());
            } else if !self.violations.is_empty() {
                self.put_violations(object);
            }
            self.put_metadata(object);
        });
    }

    fn put_metadata(&self, object: &mut ObjectWriter<'_>) {
        for (name, value) in &self.metadata {
            object.text(name, value.as_str());
        }
    }

    fn put_violations(&self, object: &mut ObjectWriter<'_>) {
        object.list("fieldViolations", &self.violations, |out, violation| {
            let (field, description) = violation;
            let mut object = ObjectWriter::open(out);
            object
                .text("field", field.as_str())
                .text("description", description.as_str());
            object.close();
        });
    }
}
