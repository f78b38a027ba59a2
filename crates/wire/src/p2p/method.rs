//! The methods of requests: those that mean something to an agent, and none that mean something to a proxy.

use std::fmt;

use serde::Serialize;

use super::{Fault, code};

/// A method that a request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`, which is also meant where none is given.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 5] = [
        Method::Get,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// The method of that name, in either case.
    pub fn from_name(name: &str) -> Result<Self, Fault> {
        let known = Method::ALL
            .into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| {
            Fault::here("must be GET, POST, PUT, PATCH or DELETE").coded(code::METHOD)
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
