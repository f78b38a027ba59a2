//! gRPC binding, on the hub's HTTP port: the service `lf.a2a.v1.A2AService` of version 1.0, and `a2a.v1.A2AService` of
//! version 0.3 ([`v03`]). A request names the agent by `tenant`: a field in 1.0, metadata in 0.3. Clients whose channels keep
//! a path may use the services below an agent's address, without `tenant`.
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
mod v03;

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
        model::StreamItem,
    },
};
use crate::{A2aDoor, DOOR};

/// Bytes before every gRPC message: compression flag and length.
const FRAME_HEAD: usize = 5;

/// Name of the service of 1.0, the first segment of a path.
const SERVICE: &str = "lf.a2a.v1.A2AService";

/// Returns the routes of the services at the root.
pub(crate) fn root_routes() -> Router<Arc<A2aDoor>> {
    let mut routes = Router::new();
    for version in [A2aVersion::V10, A2aVersion::V03] {
        let at_root = move |State(a2a), Path(method): Path<String>, request| async move {
            serve(a2a, None, version, &method, request).await
        };
        let path = format!("/{}/{{method}}", service(version));
        routes = routes.route(&path, post(at_root));
    }
    routes
}

/// Returns the routes of the services below every agent's address.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    let mut routes = Router::new();
    for (kind, version) in KINDS
        .into_iter()
        .flat_map(|kind| [A2aVersion::V10, A2aVersion::V03].map(|version| (kind, version)))
    {
        let at_agent = move |State(a2a), Path((id, method)): Path<(String, String)>, request| async move {
            serve(a2a, Some(&id), version, &method, request).await
        };
        let path = format!("{prefix}/{kind}/{{id}}/{}/{{method}}", service(version));
        routes = routes.route(&path, post(at_agent));
    }
    routes
}

/// Returns the name of the service of a version.
fn service(version: A2aVersion) -> &'static str {
    match version {
        A2aVersion::V10 => SERVICE,
        A2aVersion::V03 => v03::SERVICE,
    }
}

async fn serve(
    a2a: Arc<A2aDoor>,
    agent: Option<&str>,
    version: A2aVersion,
    method: &str,
    request: Request,
) -> Response {
    let content_type = request.headers().get(CONTENT_TYPE);
    if !content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc")) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let response = match begin(&a2a, agent, version, method, request).await {
        Ok((operation, exchange)) => match version {
            A2aVersion::V10 => exchange.serve(operation).await,
            A2aVersion::V03 => exchange.serve_v03(operation).await,
        },
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
    version: A2aVersion,
    method: &str,
    request: Request,
) -> Result<(Operation, GrpcExchange), A2aError> {
    let operation = operation(version, method).ok_or_else(|| {
        let message = format!("{} has no method '{method}'", service(version));
        A2aError::new(A2aErrorKind::MethodNotFound, message)
    })?;
    let (head, body) = request.into_parts();
    check_version(version, &head.headers)?;
    let named = match version {
        A2aVersion::V10 => None,
        A2aVersion::V03 => v03::tenant(&head),
    };
    let inbound = InboundRequest::new(a2a.clone(), agent.or(named), version, &head)?;
    let limits = a2a.hub.limits();
    let max = Size(limits.message.0 + FRAME_HEAD);
    let body = body::read(body, max, limits.write_stuck).await;
    let body = Body::from(body.map_err(fault_from)?);
    let request = Request::from_parts(head, body);
    Ok((operation, GrpcExchange { inbound, request }))
}

fn operation(version: A2aVersion, method: &str) -> Option<Operation> {
    match (version, Operation::from_name(method)) {
        (A2aVersion::V10, Some((operation, A2aVersion::V10))) => Some(operation),
        (A2aVersion::V10, _) => None,
        (A2aVersion::V03, _) => v03::operation(method),
    }
}

/// Refuses a version header that contradicts the service. Each service has one version, so the header is optional.
fn check_version(version: A2aVersion, headers: &HeaderMap) -> Result<(), A2aError> {
    let named = headers.get(A2aVersion::HEADER).map(|it| it.as_bytes());
    let named = String::from_utf8_lossy(named.unwrap_or_default());
    if named.trim().is_empty() || A2aVersion::from_name(&named) == Some(version) {
        return Ok(());
    }
    let (service, spoken) = match version {
        A2aVersion::V10 => (SERVICE, "1.0"),
        A2aVersion::V03 => (v03::SERVICE, "0.3"),
    };
    let message = format!("version '{named}' is not spoken here; {service} is version {spoken}");
    Err(A2aError::new(A2aErrorKind::VersionNotSupported, message).with("supportedVersions", spoken))
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
                self.streaming(
                    move |inbound, asked| async move {
                        inbound.stream(read::send(asked, depth)?).await
                    },
                    |item| Ok(write::item(item)),
                )
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
                self.streaming(
                    |inbound, asked| async move {
                        inbound.subscribe(read::subscribe(asked)?, None).await
                    },
                    |item| Ok(write::item(item)),
                )
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

    /// Runs a streaming operation: one message in, a stream out, whose elements `write` writes. A refusal comes before
    /// the stream begins.
    async fn streaming<Asked, Answer, Told>(
        self,
        operate: impl Fn(InboundRequest, Asked) -> Told,
        write: impl Fn(StreamItem) -> Result<Answer, A2aError> + Copy + Send + 'static,
    ) -> Response
    where
        Asked: prost::Message + Default + Bounded + 'static,
        Answer: prost::Message + 'static,
        Told: Future<Output = Result<UpdateStream, A2aError>>,
    {
        let Self { inbound, request } = self;
        let mut grpc = limited(&inbound);
        let service = service_fn(|asked: tonic::Request<Asked>| {
            let told = operate(inbound.clone(), asked.into_inner());
            async move {
                let updates = told.await.map_err(status_from)?;
                let written = stream::unfold(updates, move |updates| next(updates, write));
                Ok(tonic::Response::new(written))
            }
        });
        let response = grpc.server_streaming(service, request).await;
        reply::with_extensions(response.map(Body::new), &inbound)
    }
}

async fn next<Answer>(
    mut updates: UpdateStream,
    write: impl Fn(StreamItem) -> Result<Answer, A2aError>,
) -> Option<(Result<Answer, Status>, UpdateStream)> {
    let told = updates.next().await?;
    let told = told.and_then(|update| write(update.item));
    Some((told.map_err(status_from), updates))
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
