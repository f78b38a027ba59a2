//! The methods of requests: methods with a meaning for an agent, without methods for proxies.

use std::fmt;

use serde::Serialize;

use super::{PeerInputError, code};

/// A method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`, also the default.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 5] = [
        Method::Get,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
    ];

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// Parses the name of a method, in upper or lower case. Returns a [`PeerInputError`] with [`code::METHOD`] for
    /// other names.
    pub fn from_name(name: &str) -> Result<Self, PeerInputError> {
        let known = Method::ALL
            .into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| {
            PeerInputError::in_body("must be GET, POST, PUT, PATCH or DELETE")
                .with_code(code::METHOD)
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
