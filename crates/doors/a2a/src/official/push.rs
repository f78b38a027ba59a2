//! Push notifications: the callbacks that receive a task's changes. The core stores callbacks with the task
//! and puts every change into the outbox, in order; [`compose`] builds the requests.

mod compose;

use http::{HeaderName, HeaderValue};
use jackfield_core::outbox::{Callback, Follower};
use jackfield_model::{Json, Reason};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    failure::{fault_from, task_fault_from},
    inbound::InboundRequest,
};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{
        Authentication, Extra, PushConfig, PushCreateParams, PushListParams, PushPage, PushParams,
    },
};

/// Marks callbacks of this door in the outbox.
const KIND: &str = "a2a";

/// Id of a config without a name in version 0.3. Programs of 0.3 use this id to find the config.
const UNNAMED: &str = "default";

/// Largest config as JSON, in bytes.
const MAX_CONFIG: usize = 8 << 10;

/// Stored fields of a config, apart from its id and URL.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredPushConfig {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schemes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
    #[serde(skip_serializing_if = "Extra::is_empty")]
    fields: Extra,
}

impl StoredPushConfig {
    fn of(callback: &Callback) -> Self {
        let data = callback.data.as_ref();
        data.and_then(|data| serde_json::from_str(data.get()).ok())
            .unwrap_or_default()
    }
}

impl InboundRequest {
    /// Checks a config and builds its [`Follower`]. The hub must be allowed to post to the URL.
    pub(super) async fn follower(&self, config: &PushConfig) -> Result<Follower, A2aError> {
        let Some(outbound) = &self.a2a.outbound else {
            let text = "this server notifies nobody; follow the task instead";
            return Err(A2aError::new(A2aErrorKind::PushNotSupported, text));
        };
        let url = outbound.admit(&config.url).await;
        let url = url.map_err(|error| A2aError::field("url", error.to_string()))?;
        let authentication = config.authentication.as_ref();
        check_headers(config)?;
        let kept = StoredPushConfig {
            version: self.version.name().to_owned(),
            token: config.token.clone(),
            schemes: authentication.map(|it| it.schemes.clone()),
            credentials: authentication.and_then(|it| it.credentials.clone()),
            fields: config.extra.clone(),
        };
        let data = Json::of(&kept);
        let data =
            data.map_err(|error| A2aError::new(A2aErrorKind::Internal, error.to_string()))?;
        // The outbox stores a copy of the config with every change of the task.
        let id_bytes = config.id.as_ref().map_or(0, String::len);
        if url.as_str().len() + data.get().len() + id_bytes > MAX_CONFIG {
            let text = format!("all of it together may have at most {MAX_CONFIG} bytes");
            return Err(A2aError::field("pushNotificationConfig", text));
        }
        let named = config.id.clone().filter(|id| !id.is_empty());
        Ok(Follower {
            id: named.unwrap_or_else(|| match self.version {
                A2aVersion::V03 => UNNAMED.to_owned(),
                A2aVersion::V10 => Uuid::new_v4().to_string(),
            }),
            callback: Callback {
                url: url.into(),
                kind: KIND.to_owned(),
                data: Some(data),
                token: None,
            },
        })
    }

    /// Adds a config: the URL receives the task's changes from now on.
    pub(crate) async fn create_push(
        &self,
        params: PushCreateParams,
    ) -> Result<PushConfig, A2aError> {
        let PushCreateParams { tenant, config } = params;
        let id = config.task_id.as_deref();
        let id = id.ok_or_else(|| A2aError::field("taskId", "name the task"))?;
        let task = self.task(id, tenant.as_deref()).await?;
        let follower = self.follower(&config).await?;
        let shown = shown(task.id.to_string(), &follower);
        let tasks = self.a2a.hub.tasks();
        let followed = tasks.follow(&self.principal, task.id, follower).await;
        followed.map_err(|failure| match failure.reason {
            Reason::Conflict => fault_from(failure),
            _ => task_fault_from(failure),
        })?;
        Ok(shown)
    }

    /// Returns a [`PushPage`] of a task's configs that begins after the config that the token names.
    pub(crate) async fn list_push(&self, params: PushListParams) -> Result<PushPage, A2aError> {
        let task = self.task(&params.task_id, params.tenant.as_deref()).await?;
        let id = task.id.to_string();
        let mut followers = task.record().followers;
        followers.retain(|it| it.callback.kind == KIND);
        if let Some(token) = params.page_token.filter(|token| !token.is_empty()) {
            let last = followers.iter().position(|it| it.id == token);
            let last = last.ok_or_else(|| {
                let why = "use the nextPageToken of the page before, as it is";
                A2aError::field("pageToken", why)
            })?;
            followers.drain(..=last);
        }
        let size = params.page_size.unwrap_or(usize::MAX);
        let is_more = followers.len() > size;
        followers.truncate(size);
        let last = followers.last().filter(|_| is_more);
        Ok(PushPage {
            next_page_token: last.map(|it| it.id.clone()).unwrap_or_default(),
            configs: followers.iter().map(|it| shown(id.clone(), it)).collect(),
        })
    }

    /// Returns a config of a task.
    pub(crate) async fn get_push(&self, params: PushParams) -> Result<PushConfig, A2aError> {
        let list = PushListParams {
            tenant: params.tenant,
            task_id: params.task_id,
            page_size: None,
            page_token: None,
        };
        let mut configs = self.list_push(list).await?.configs.into_iter();
        let found = match &params.id {
            Some(id) => configs.find(|config| config.id.as_ref() == Some(id)),
            None => configs.next(),
        };
        found.ok_or_else(|| {
            let text = "Push notification config not found: the task has none of this id";
            A2aError::new(A2aErrorKind::TaskNotFound, text)
        })
    }

    /// Removes a config. An unknown config is not an error.
    pub(crate) async fn delete_push(&self, params: PushParams) -> Result<(), A2aError> {
        let task = self.task(&params.task_id, params.tenant.as_deref()).await?;
        let id = params.id.as_deref().unwrap_or(UNNAMED);
        let tasks = self.a2a.hub.tasks();
        let gone = tasks.unfollow(&self.principal, task.id, KIND, id).await;
        gone.map(drop).map_err(task_fault_from)
    }
}

/// Refuses values that an HTTP header cannot hold. Such a value would make every later notification fail.
fn check_headers(config: &PushConfig) -> Result<(), A2aError> {
    const NO_VALUE: &str = "an HTTP header cannot hold this: use visible ASCII characters";
    let fits = |text: &str| HeaderValue::from_str(text).is_ok();
    if config.token.as_deref().is_some_and(|token| !fits(token)) {
        return Err(A2aError::field("token", NO_VALUE));
    }
    let Some(authentication) = &config.authentication else {
        return Ok(());
    };
    let scheme = authentication.schemes.first();
    // Scheme names and header names allow the same characters.
    if scheme.is_some_and(|scheme| HeaderName::from_bytes(scheme.as_bytes()).is_err()) {
        let why = "this is not the name of an HTTP authentication scheme; use one such as Bearer";
        return Err(A2aError::field("authentication.scheme", why));
    }
    let credentials = authentication.credentials.as_deref();
    if credentials.is_some_and(|credentials| !fits(credentials)) {
        return Err(A2aError::field("authentication.credentials", NO_VALUE));
    }
    Ok(())
}

/// Builds the [`PushConfig`] for its owner.
fn shown(task: String, follower: &Follower) -> PushConfig {
    let kept = StoredPushConfig::of(&follower.callback);
    PushConfig {
        id: Some(follower.id.clone()),
        task_id: Some(task),
        url: follower.callback.url.clone(),
        token: kept.token,
        authentication: kept.schemes.map(|schemes| Authentication {
            schemes,
            credentials: kept.credentials,
        }),
        extra: kept.fields,
    }
}
