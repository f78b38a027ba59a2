//! Bodies of error responses.

use serde::Serialize;

use super::{super::A2aVersion, A2aError};
use crate::wire::write::{Texts, to_json};

/// Domain of the error reasons.
pub(super) const DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// Error of a JSON-RPC response, and body of a REST error in 0.3.
#[derive(Debug, Serialize)]
pub(in crate::wire::official) struct RpcErrorOut<'a> {
    code: i64,
    message: &'a str,
    data: ErrorData<'a>,
}

/// Machine-readable details of an error.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ErrorData<'a> {
    V03(DataV03<'a>),
    V10(Vec<Detail<'a>>),
}

/// Error details in 0.3, which does not define their form.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DataV03<'a> {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    field_violations: Vec<Violation<'a>>,
    #[serde(flatten)]
    metadata: Texts<'a>,
}

/// Body of a REST error in 1.0.
#[derive(Debug, Serialize)]
struct RestBody<'a> {
    error: RestError<'a>,
}

#[derive(Debug, Serialize)]
struct RestError<'a> {
    code: u16,
    status: &'static str,
    message: &'a str,
    details: Vec<Detail<'a>>,
}

/// Error detail in 1.0.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Detail<'a> {
    Info {
        #[serde(rename = "@type")]
        type_url: &'static str,
        reason: &'static str,
        domain: &'static str,
        #[serde(skip_serializing_if = "Texts::is_empty")]
        metadata: Texts<'a>,
    },
    BadRequest {
        #[serde(rename = "@type")]
        type_url: &'static str,
        #[serde(rename = "fieldViolations")]
        violations: Vec<Violation<'a>>,
    },
}

/// Invalid field with the reason.
#[derive(Debug, Serialize)]
struct Violation<'a> {
    field: &'a str,
    description: &'a str,
}

/// Returns the body of a pure HTTP error, in the form of REST in 1.0.
pub(crate) fn http_error(code: u16, status: &'static str, message: &str) -> String {
    let error = RestError {
        code,
        status,
        message,
        details: Vec::new(),
    };
    to_json(&RestBody { error })
}

impl A2aError {
    /// Domain of the reasons from [`Self::reason`].
    pub(crate) const DOMAIN: &'static str = DOMAIN;

    /// Returns the body of an HTTP response in the REST binding of a version.
    pub(crate) fn rest_body(&self, version: A2aVersion) -> String {
        match version {
            A2aVersion::V03 => to_json(&self.rpc_error(version)),
            A2aVersion::V10 => {
                let error = RestError {
                    code: self.http_status(version),
                    status: self.status_name(),
                    message: &self.message,
                    details: self.details(),
                };
                to_json(&RestBody { error })
            }
        }
    }

    /// Returns the error of a JSON-RPC response.
    pub(in crate::wire::official) fn rpc_error(&self, version: A2aVersion) -> RpcErrorOut<'_> {
        RpcErrorOut {
            code: self.code(),
            message: &self.message,
            data: match version {
                A2aVersion::V03 => ErrorData::V03(self.old_data()),
                A2aVersion::V10 => ErrorData::V10(self.details()),
            },
        }
    }

    fn details(&self) -> Vec<Detail<'_>> {
        let mut details = vec![Detail::Info {
            type_url: ERROR_INFO,
            reason: self.reason(),
            domain: DOMAIN,
            metadata: Texts(&self.metadata),
        }];
        if !self.violations.is_empty() {
            details.push(Detail::BadRequest {
                type_url: BAD_REQUEST,
                violations: self.violations().collect(),
            });
        }
        details
    }

    fn old_data(&self) -> DataV03<'_> {
        let (field, field_violations) = match self.violations.as_slice() {
            [(field, _)] => (Some(field.as_str()), Vec::new()),
            _ => (None, self.violations().collect()),
        };
        DataV03 {
            reason: self.reason(),
            field,
            field_violations,
            metadata: Texts(&self.metadata),
        }
    }

    fn violations(&self) -> impl Iterator<Item = Violation<'_>> {
        let violations = self.violations.iter();
        violations.map(|(field, description)| Violation { field, description })
    }
}
