//! gRPC binding of version 1.0: the service `lf.a2a.v1.A2AService` on the hub's HTTP port. A request names
//! the agent by `tenant`. Clients whose channels keep a path may use the service below an agent's address,
//! without `tenant`.
//!
//! - [`proto`]: the messages, [`codec`]: encoding, [`bounds`]: limits on the number of items in a message
//! - [`translate`]: pure functions between the messages and the protocol's model, [`json`]: the same for any
//!   JSON
//! - [`status`]: the errors

mod bounds;
mod codec;
mod json;
mod proto;
mod status;
mod translate;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::stream;
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use jackfield_core::units::Size;
use jackfield_kit::body;
use tonic::{Code, Status, server::Grpc};
use tower::service_fn;

use self::{
    bounds::Bounded,
    codec::ProtobufCodec,
    status::status_from,
    translate::{read, write},
};
use super::{InboundRequest, UpdateStream, failure::fault_from, reply};
use crate::wire::{
    card::KINDS,
    official::{
        A2aVersion,
        error::{A2aError, A2aErrorKind},
        method::Operation,
    },
};
use crate::{A2aDoor, DOOR};

/// Bytes before every gRPC message: compression flag and length.
const FRAME_HEAD: usize = 5;

/// Name of the service, the first segment of a path.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Returns the route of the service at the root.
pub(crate) fn root_routes() -> Router<Arc<A2aDoor>> {
    Router::new().route(&format!("/{SERVICE}/{{method}}"), post(at_root))
}

/// Returns the routes of the service below every agent's address.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    let mut routes = Router::new();
    for kind in KINDS {
        let path = format!("{prefix}/{kind}/{{id}}/{SERVICE}/{{method}}");
        routes = routes.route(&path, post(at_agent));
    }
    routes
}

async fn at_root(
    State(a2a): State<Arc<A2aDoor>>,
    Path(method): Path<String>,
    request: Request,
) -> Response {
    serve(a2a, None, &method, request).await
}

async fn at_agent(
    State(a2a): State<Arc<A2aDoor>>,
    Path((id, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(a2a, Some(&id), &method, request).await
}

async fn serve(a2a: Arc<A2aDoor>, agent: Option<&str>, method: &str, request: Request) -> Response {
    let content_type = request.headers().get(CONTENT_TYPE);
    if !content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc")) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let response = match begin(&a2a, agent, method, request).await {
        Ok((operation, exchange)) => exchange.serve(operation).await,
        Err(fault) => status_from(fault).into_http(),
    };
    // Every answer has HTTP status 200. The gRPC status of an answer without a body is among the extensions.
    let refused = response.extensions().get::<Status>().map(Status::code);
    if matches!(refused, Some(Code::InvalidArgument)) {
        a2a.hub.metrics().refused(DOOR);
    }
    response
}

/// Finds the operation and authenticates the caller, before any byte of the message is read.
async fn begin(
    a2a: &Arc<A2aDoor>,
    agent: Option<&str>,
    method: &str,
    request: Request,
) -> Result<(Operation, GrpcExchange), A2aError> {
    let Some((operation, A2aVersion::V10)) = Operation::from_name(method) else {
        let message = format!("{SERVICE} has no method '{method}'");
        return Err(A2aError::new(A2aErrorKind::MethodNotFound, message));
    };
    let (head, body) = request.into_parts();
    let version = version(&head.headers)?;
    let inbound = InboundRequest::new(a2a.clone(), agent, version, &head)?;
    let limits = a2a.hub.limits();
    let max = Size(limits.message.0 + FRAME_HEAD);
    let body = body::read(body, max, limits.write_stuck).await;
    let body = Body::from(body.map_err(fault_from)?);
    let request = Request::from_parts(head, body);
    Ok((operation, GrpcExchange { inbound, request }))
}

/// Returns the version of the request. The package has only version 1.0, so the header is optional.
fn version(headers: &HeaderMap) -> Result<A2aVersion, A2aError> {
    let named = headers.get(A2aVersion::HEADER).map(|it| it.as_bytes());
    let named = String::from_utf8_lossy(named.unwrap_or_default());
    if named.trim().is_empty() || A2aVersion::from_name(&named) == Some(A2aVersion::V10) {
        return Ok(A2aVersion::V10);
    }
    let message = format!("version '{named}' is not spoken here; {SERVICE} is version 1.0");
    Err(A2aError::new(A2aErrorKind::VersionNotSupported, message).with("supportedVersions", "1.0"))
}

/// Authenticated request, ready to be decoded.
struct GrpcExchange {
    inbound: InboundRequest,
    request: Request,
}

impl GrpcExchange {
    async fn serve(self, operation: Operation) -> Response {
        let depth = self.inbound.a2a.hub.limits().json_depth;
        match operation {
            Operation::Send => {
                self.unary(move |inbound, asked| async move {
                    let sent = inbound.send(read::send(asked, depth)?).await?;
                    Ok(write::item(sent))
                })
                .await
            }
            Operation::Stream => {
                self.streaming(move |inbound, asked| async move {
                    inbound.stream(read::send(asked, depth)?).await
                })
                .await
            }
            Operation::Get => {
                self.unary(|inbound, asked| async move {
                    Ok(write::task(inbound.get(read::get(asked)?).await?))
                })
                .await
            }
            Operation::List => {
                self.unary(|inbound, asked| async move {
                    Ok(write::page(inbound.list(read::list(asked)?).await?))
                })
                .await
            }
            Operation::Cancel => {
                self.unary(move |inbound, asked| async move {
                    let cancelled = inbound.cancel(read::cancel(asked, depth)?).await?;
                    Ok(write::task(cancelled))
                })
                .await
            }
            Operation::Subscribe => {
                self.streaming(|inbound, asked| async move {
                    inbound.subscribe(read::subscribe(asked)?, None).await
                })
                .await
            }
            Operation::CreatePush => {
                self.unary(|inbound, asked| async move {
                    Ok(write::push(inbound.create_push(read::push(asked)?).await?))
                })
                .await
            }
            Operation::GetPush => {
                self.unary(|inbound, asked| async move {
                    let found = inbound.get_push(read::push_params(asked)?).await?;
                    Ok(write::push(found))
                })
                .await
            }
            Operation::ListPush => {
                self.unary(|inbound, asked| async move {
                    let found = inbound.list_push(read::push_list(asked)?).await?;
                    Ok(write::pushes(found))
                })
                .await
            }
            Operation::DeletePush => {
                self.unary(|inbound, asked| async move {
                    inbound.delete_push(read::push_params(asked)?).await
                })
                .await
            }
            Operation::ExtendedCard => {
                self.unary(
                    |inbound, asked: proto::GetExtendedAgentCardRequest| async move {
                        let tenant = read::word(asked.tenant);
                        write::card(&inbound.extended_card(tenant.as_deref())?)
                    },
                )
                .await
            }
        }
    }

    /// Runs a unary operation: one message in, one message out.
    async fn unary<Asked, Answer, Told>(
        self,
        operate: impl Fn(InboundRequest, Asked) -> Told,
    ) -> Response
    where
        Asked: prost::Message + Default + Bounded + 'static,
        Answer: prost::Message + 'static,
        Told: Future<Output = Result<Answer, A2aError>>,
    {
        let Self { inbound, request } = self;
        let mut grpc = limited(&inbound);
        let service = service_fn(|asked: tonic::Request<Asked>| {
            let told = operate(inbound.clone(), asked.into_inner());
            async move { told.await.map(tonic::Response::new).map_err(status_from) }
        });
        let response = grpc.unary(service, request).await.map(Body::new);
        reply::with_extensions(response, &inbound)
    }

    /// Runs a streaming operation: one message in, a stream out. A refusal comes before the stream begins.
    async fn streaming<Asked, Told>(
        self,
        operate: impl Fn(InboundRequest, Asked) -> Told,
    ) -> Response
    where
        Asked: prost::Message + Default + Bounded + 'static,
        Told: Future<Output = Result<UpdateStream, A2aError>>,
    {
        let Self { inbound, request } = self;
        let mut grpc = limited(&inbound);
        let service = service_fn(|asked: tonic::Request<Asked>| {
            let told = operate(inbound.clone(), asked.into_inner());
            async move {
                let updates = told.await.map_err(status_from)?;
                Ok(tonic::Response::new(stream::unfold(updates, next)))
            }
        });
        let response = grpc.server_streaming(service, request).await;
        reply::with_extensions(response.map(Body::new), &inbound)
    }
}

async fn next(
    mut updates: UpdateStream,
) -> Option<(Result<proto::StreamResponse, Status>, UpdateStream)> {
    let told = match updates.next().await? {
        Ok(update) => Ok(write::item(update.item)),
        Err(fault) => Err(status_from(fault)),
    };
    Some((told, updates))
}

/// Returns the codec with the hub's message limit for decoding; tonic's default limit is lower. Encoding has
/// no limit, because a task may have any size.
fn limited<Asked, Answer>(inbound: &InboundRequest) -> Grpc<ProtobufCodec<Asked, Answer>>
where
    Asked: prost::Message + Default + Bounded + 'static,
    Answer: prost::Message + 'static,
{
    let limit = inbound.a2a.hub.limits().message;
    Grpc::new(ProtobufCodec::default()).max_decoding_message_size(limit.0)
}
