//! Push configs, and the params of the operations on them.

use jackfield_wire::read::{self, Misread, Open};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::super::{
    Version,
    error::Fault,
    fields::{Count, extra, filled, read_params, word, word_in},
    model::{Authentication, PushConfig, PushCreateParams, PushListParams, PushParams},
};

/// A push config as it is written, in both versions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushConfigIn<'a> {
    #[serde(rename = "tenant")]
    _tenant: Option<IgnoredAny>,
    #[serde(rename = "name")]
    _name: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "word")]
    id: Option<String>,
    #[serde(alias = "task_id", default, deserialize_with = "word")]
    task_id: Option<String>,
    #[serde(deserialize_with = "filled")]
    url: String,
    #[serde(default, deserialize_with = "word")]
    token: Option<String>,
    #[serde(borrow)]
    authentication: Option<&'a RawValue>,
}

/// A push config, and the fields beside it that nobody knows.
pub(super) type OpenPushConfig<'a> = Open<'a, PushConfigIn<'a>>;

/// How a receiver wants to be spoken to, in 0.3. Some say it as 1.0 does.
#[derive(Debug, Deserialize)]
struct AuthenticationV03 {
    schemes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "word")]
    scheme: Option<String>,
    #[serde(default, deserialize_with = "word")]
    credentials: Option<String>,
}

/// The same in 1.0.
#[derive(Debug, Deserialize)]
struct AuthenticationV10 {
    #[serde(deserialize_with = "filled")]
    scheme: String,
    #[serde(default, deserialize_with = "word")]
    credentials: Option<String>,
}

/// The params that have somebody notified of a task, as far as they are not the config itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushCreateIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    /// What 0.3 puts around the config.
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<&'a RawValue>,
    /// What callers of REST in 0.3 put around it.
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(alias = "config_id", borrow)]
    config_id: Option<&'a RawValue>,
}

/// The params that name a push config, in 0.3.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushV03 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(deserialize_with = "filled")]
    id: String,
    #[serde(
        alias = "push_notification_config_id",
        default,
        deserialize_with = "word"
    )]
    push_notification_config_id: Option<String>,
}

/// The same in 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushV10 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "filled")]
    task_id: String,
    #[serde(deserialize_with = "filled")]
    id: String,
}

/// The params that ask for the push configs of a task, in 0.3. It answers with a bare list, which has no place for what asks
/// for the next page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushListV03 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(deserialize_with = "filled")]
    id: String,
    #[serde(rename = "pageSize", alias = "page_size")]
    _page_size: Option<Count>,
    #[serde(alias = "page_token", default, deserialize_with = "word")]
    page_token: Option<String>,
}

/// The same in 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushListV10 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "filled")]
    task_id: String,
    #[serde(alias = "page_size")]
    page_size: Option<Count>,
    #[serde(alias = "page_token", default, deserialize_with = "word")]
    page_token: Option<String>,
}

impl Version {
    /// Reads the params that have somebody notified.
    pub(crate) fn read_push(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, Fault> {
        let given: PushCreateIn<'_> = read_params(params, max_depth)?;
        let task = word_in("taskId", given.task_id)?;
        let task = task.ok_or_else(|| Misread::missing("taskId"))?;
        Ok(PushCreateParams {
            config: PushConfig::read(self, &given, params, task)?,
            tenant: given.tenant,
        })
    }

    /// The same where the task is named in the address.
    pub(crate) fn push_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, Fault> {
        let outer: PushCreateIn<'_> = read_params(body, max_depth)?;
        let task = task.to_owned();
        let Some(inner) = outer.config.filter(|_| self == Self::V03) else {
            let config = PushConfig::read(self, &outer, body, task)?;
            return Ok(PushCreateParams {
                tenant: outer.tenant,
                config,
            });
        };
        let config = read::read_part(inner)
            .and_then(|given| PushConfig::read(self, &given, Some(inner), task));
        let mut config = config.map_err(|misread| misread.within("config"))?;
        if config.id.is_none() {
            config.id = word_in("configId", outer.config_id)?;
        }
        Ok(PushCreateParams {
            tenant: outer.tenant,
            config,
        })
    }

    /// Reads the params that name a push config.
    pub(crate) fn read_push_params(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushParams, Fault> {
        Ok(match self {
            Self::V03 => {
                let given: PushV03 = read_params(params, max_depth)?;
                PushParams {
                    tenant: given.tenant,
                    task_id: given.id,
                    id: given.push_notification_config_id,
                }
            }
            Self::V10 => {
                let given: PushV10 = read_params(params, max_depth)?;
                PushParams {
                    tenant: given.tenant,
                    task_id: given.task_id,
                    id: Some(given.id),
                }
            }
        })
    }

    /// Reads the params that ask for the push configs of a task.
    pub(crate) fn read_push_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushListParams, Fault> {
        Ok(match self {
            Self::V03 => {
                let given: PushListV03 = read_params(params, max_depth)?;
                PushListParams {
                    tenant: given.tenant,
                    task_id: given.id,
                    page_size: None,
                    page_token: given.page_token,
                }
            }
            Self::V10 => {
                let given: PushListV10 = read_params(params, max_depth)?;
                let size = given.page_size.map(|Count(size)| size);
                PushListParams {
                    tenant: given.tenant,
                    task_id: given.task_id,
                    page_size: size.filter(|size| *size > 0),
                    page_token: given.page_token,
                }
            }
        })
    }
}

impl PushConfig {
    /// Reads the config of a task, of which `given` is what `raw` says besides.
    fn read(
        version: Version,
        given: &PushCreateIn<'_>,
        raw: Option<&RawValue>,
        task: String,
    ) -> Result<Self, Misread> {
        const NESTED: &str = "pushNotificationConfig";
        let config = match (version, given.url, given.push_notification_config) {
            (Version::V03, None, None) => return Err(Misread::missing(NESTED)),
            (Version::V03, None, Some(nested)) => {
                let config = read::read_part(nested);
                let config = config.and_then(|config| Self::read_inner(version, config));
                config.map_err(|misread| misread.within(NESTED))?
            }
            // Some callers leave out what is around it.
            (Version::V03, Some(_), _) | (Version::V10, ..) => {
                let raw = raw.ok_or_else(|| Misread::missing("url"))?;
                Self::read_inner(version, read::read_part(raw)?)?
            }
        };
        Ok(Self {
            task_id: Some(task),
            ..config
        })
    }

    /// Reads a config that stands in a field of something.
    pub(super) fn read_inner(
        version: Version,
        config: OpenPushConfig<'_>,
    ) -> Result<Self, Misread> {
        let Open {
            known: config,
            rest,
        } = config;
        let authentication = match config.authentication {
            None => None,
            Some(raw) => Authentication::read(version, raw)
                .map_err(|misread| misread.within("authentication"))?,
        };
        Ok(Self {
            id: config.id,
            task_id: config.task_id,
            url: config.url,
            token: config.token,
            authentication,
            extra: extra(version, &rest),
        })
    }
}

impl Authentication {
    /// Reads it. Without a scheme nobody knows how to show the credentials. An empty list of schemes, which 0.3 allows, is as
    /// good as no authentication at all.
    fn read(version: Version, raw: &RawValue) -> Result<Option<Self>, Misread> {
        match version {
            Version::V03 => Self::of_v03(read::read_part(raw)?),
            Version::V10 => {
                let given: AuthenticationV10 = read::read_part(raw)?;
                Ok(Some(Self {
                    schemes: vec![given.scheme],
                    credentials: given.credentials,
                }))
            }
        }
    }

    fn of_v03(given: AuthenticationV03) -> Result<Option<Self>, Misread> {
        let is_listed = given.schemes.is_some();
        let mut schemes = given.schemes.unwrap_or_default();
        schemes.extend(given.scheme);
        schemes.retain(|scheme| !scheme.is_empty());
        match (schemes.is_empty(), is_listed, &given.credentials) {
            (false, ..) => Ok(Some(Self {
                schemes,
                credentials: given.credentials,
            })),
            (true, true, None) => Ok(None),
            (true, ..) => Err(Misread::missing("schemes")),
        }
    }
}
