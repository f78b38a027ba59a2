//! Translation of a [`A2aError`] into a gRPC status: a code, a text, and details in the trailer
//! `grpc-status-details-bin`.

use prost::Message;
use prost_types::Any;
use tonic::{Code, Status};

use super::proto::{BadRequest, ErrorInfo, FieldViolation, RpcStatus};
use crate::wire::official::error::A2aError;

/// Translates a fault into a gRPC status.
pub(super) fn status_from(fault: A2aError) -> Status {
    let code = fault.grpc_code().number();
    let info = ErrorInfo {
        reason: fault.reason().to_owned(),
        domain: A2aError::DOMAIN.to_owned(),
        metadata: fault
            .metadata
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    };
    let mut details = vec![any("google.rpc.ErrorInfo", &info)];
    if !fault.violations.is_empty() {
        let violations = fault.violations.into_iter();
        let field_violations = violations
            .map(|(field, description)| FieldViolation { field, description })
            .collect();
        details.push(any(
            "google.rpc.BadRequest",
            &BadRequest { field_violations },
        ));
    }
    let status = RpcStatus {
        code,
        message: fault.message.clone(),
        details,
    };
    Status::with_details(
        Code::from_i32(code),
        fault.message,
        status.encode_to_vec().into(),
    )
}

fn any(name: &str, message: &impl Message) -> Any {
    Any {
        type_url: format!("type.googleapis.com/{name}"),
        value: message.encode_to_vec(),
    }
}
