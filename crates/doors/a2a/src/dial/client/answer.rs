//! Parser for answers of a remote.

use std::sync::Arc;

use http::StatusCode;
use jackfield_wire::json::{self, MAX_DEPTH};
use serde_json::value::RawValue;

use super::{call_error::RemoteCallError, request::ClientRequest, server_facts::ServerFacts};
use crate::dial::endpoint::{Dialect, RemoteEndpoint};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::StreamItem,
    rpc::{RpcId, RpcResponse},
    v03_proto,
};

/// Parser for the answers to one request.
#[derive(Debug)]
pub(super) struct AnswerParser {
    version: A2aVersion,
    is_proto: bool,
    /// True for Agno, whose errors are in the form of a web framework.
    is_agno: bool,
    /// Id of the JSON-RPC request; `None` for REST.
    id: Option<String>,
    names_task: bool,
    noted: Arc<ServerFacts>,
}

impl AnswerParser {
    pub(super) fn new(
        place: &RemoteEndpoint,
        request: ClientRequest,
        noted: Arc<ServerFacts>,
    ) -> Self {
        Self {
            version: place.version,
            is_proto: ClientRequest::is_proto(place),
            is_agno: place.dialect == Dialect::Agno,
            id: request.id,
            names_task: request.names_task,
            noted,
        }
    }

    /// Parses an answer, or an event of a stream.
    pub(super) fn item(
        &self,
        status: StatusCode,
        body: &[u8],
    ) -> Result<StreamItem, RemoteCallError> {
        let item = match &self.id {
            Some(id) => self.result(id, body)?,
            None => self.resource(status, body)?,
        };
        self.noted.item(&item);
        Ok(item)
    }

    /// Parses an answer with an error status.
    pub(super) fn refusal(&self, status: StatusCode, body: &[u8]) -> RemoteCallError {
        if let Some(id) = &self.id
            && let Ok(response) = RpcResponse::read(body)
            && response.answers(id)
            && let Err(fault) = response.outcome
        {
            return RemoteCallError::Refused(fault);
        }
        let speaks_http = self.id.is_none() || self.is_agno;
        let raw = serde_json::from_slice::<&RawValue>(body).ok();
        if speaks_http && let Some(fault) = raw.and_then(|raw| self.fault(status, raw)) {
            return RemoteCallError::Refused(fault);
        }
        let why = format!("{status} with {}", kind_of(body));
        match status {
            // A proxy in front of the server reports that the server is down.
            StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => RemoteCallError::Unreachable(why),
            _ => RemoteCallError::Garbled(why),
        }
    }

    /// Parses a JSON-RPC response.
    fn result(&self, id: &str, body: &[u8]) -> Result<StreamItem, RemoteCallError> {
        let response = RpcResponse::read(body);
        let response = response.map_err(|why| {
            RemoteCallError::Garbled(match body.trim_ascii_start().first() {
                None | Some(b'<') => format!("it is {}", kind_of(body)),
                Some(_) => why,
            })
        })?;
        if !response.answers(id) {
            let why = match response.id {
                RpcId::Null => "its id is missing: it must be that of the request",
                RpcId::Given(_) => "it bears the id of another request",
            };
            return Err(RemoteCallError::Garbled(why.to_owned()));
        }
        let result = response.outcome.map_err(RemoteCallError::Refused)?;
        self.read(result).map_err(|fault| nonsense("result", fault))
    }

    /// Parses a REST body.
    fn resource(&self, status: StatusCode, body: &[u8]) -> Result<StreamItem, RemoteCallError> {
        let raw = serde_json::from_slice::<&RawValue>(body);
        let raw =
            raw.map_err(|_| RemoteCallError::Garbled(format!("the answer is {}", kind_of(body))))?;
        self.read(raw).map_err(|fault| {
            // After the start of a stream, an error can only come as an event.
            let said = self.fault(status, raw);
            said.map_or_else(|| nonsense("the body", fault), RemoteCallError::Refused)
        })
    }

    fn read(&self, raw: &RawValue) -> Result<StreamItem, A2aError> {
        if json::depth_exceeds(raw.get(), MAX_DEPTH) {
            let why = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(A2aError::field("result", why));
        }
        if self.is_proto {
            v03_proto::read_item(self.noted.files(), raw)
        } else {
            self.version.read_item(raw)
        }
    }

    /// Parses the error in an HTTP body.
    fn fault(&self, status: StatusCode, raw: &RawValue) -> Option<A2aError> {
        let mut fault = A2aError::from_rest(status.as_u16(), raw)?;
        if fault.kind == A2aErrorKind::TaskNotFound && !self.names_task {
            // From the status alone, the missing resource is unknown.
            fault.kind = A2aErrorKind::MethodNotFound;
        }
        Some(fault)
    }
}

/// Returns the error for a correct envelope with unexpected content.
fn nonsense(whole: &str, fault: A2aError) -> RemoteCallError {
    let why = match fault.violations.first() {
        // The reader calls the whole value `params`; here the whole value is the answer.
        Some((field, why)) if field == "params" => format!("{whole} {why}"),
        Some((field, why)) => format!("{field} {why}"),
        None => fault.message,
    };
    RemoteCallError::Garbled(format!("the answer is neither a task nor a message: {why}"))
}

/// Describes the kind of a body. The text itself is not repeated, because the text may be confidential.
fn kind_of(body: &[u8]) -> &'static str {
    match body.trim_ascii_start().first() {
        None => "nothing at all",
        Some(b'<') => "a web page",
        Some(_) if serde_json::from_slice::<&RawValue>(body).is_err() => "no JSON",
        Some(_) => "JSON of some other kind",
    }
}
