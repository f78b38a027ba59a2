//! Readers for push configs and for the params of their operations.

use jackfield_wire::read::{self, FieldError, OpenObject};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::super::{
    A2aVersion,
    error::A2aError,
    fields::{CountField, extra, filled, read_params, word, word_in},
    model::{Authentication, PushConfig, PushCreateParams, PushListParams, PushParams},
};

/// Serialized form of a push config, in both versions.
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

/// Push config with its unknown fields.
pub(super) type OpenPushConfig<'a> = OpenObject<'a, PushConfigIn<'a>>;

/// Authentication in 0.3. Some callers use the form of 1.0.
#[derive(Debug, Deserialize)]
struct AuthenticationV03 {
    schemes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "word")]
    scheme: Option<String>,
    #[serde(default, deserialize_with = "word")]
    credentials: Option<String>,
}

/// Authentication in 1.0.
#[derive(Debug, Deserialize)]
struct AuthenticationV10 {
    #[serde(deserialize_with = "filled")]
    scheme: String,
    #[serde(default, deserialize_with = "word")]
    credentials: Option<String>,
}

/// Params for adding a push config, apart from the config itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushCreateIn<'a> {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
    /// URL of an unwrapped config; 0.3 wraps the config in `pushNotificationConfig`.
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(alias = "push_notification_config", borrow)]
    push_notification_config: Option<&'a RawValue>,
    /// Wrapper of the config for REST callers of 0.3.
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(alias = "config_id", borrow)]
    config_id: Option<&'a RawValue>,
}

/// Params that name a push config, in 0.3.
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

/// Params that name a push config, in 1.0.
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

/// Params for listing push configs, in 0.3. The answer is a bare list without a page token.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushListV03 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(deserialize_with = "filled")]
    id: String,
    #[serde(rename = "pageSize", alias = "page_size")]
    _page_size: Option<CountField>,
    #[serde(alias = "page_token", default, deserialize_with = "word")]
    page_token: Option<String>,
}

/// Params for listing push configs, in 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushListV10 {
    #[serde(default, deserialize_with = "word")]
    tenant: Option<String>,
    #[serde(alias = "task_id", deserialize_with = "filled")]
    task_id: String,
    #[serde(alias = "page_size")]
    page_size: Option<CountField>,
    #[serde(alias = "page_token", default, deserialize_with = "word")]
    page_token: Option<String>,
}

impl A2aVersion {
    /// Reads the [`PushCreateParams`] for adding a push config.
    pub(crate) fn read_push(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, A2aError> {
        let given: PushCreateIn<'_> = read_params(params, max_depth)?;
        let task = word_in("taskId", given.task_id)?;
        let task = task.ok_or_else(|| FieldError::missing("taskId"))?;
        Ok(PushCreateParams {
            config: PushConfig::read(self, &given, params, task)?,
            tenant: given.tenant,
        })
    }

    /// Reads the params for adding a push config, if the address names the task.
    pub(crate) fn push_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, A2aError> {
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

    /// Reads the [`PushParams`] that name a push config.
    pub(crate) fn read_push_params(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushParams, A2aError> {
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

    /// Reads the [`PushListParams`] for listing push configs.
    pub(crate) fn read_push_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushListParams, A2aError> {
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
                let size = given.page_size.map(|CountField(size)| size);
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
    /// Reads the config of a task. `given` has the other members of `raw`.
    fn read(
        version: A2aVersion,
        given: &PushCreateIn<'_>,
        raw: Option<&RawValue>,
        task: String,
    ) -> Result<Self, FieldError> {
        const NESTED: &str = "pushNotificationConfig";
        let config = match (version, given.url, given.push_notification_config) {
            (A2aVersion::V03, None, None) => return Err(FieldError::missing(NESTED)),
            (A2aVersion::V03, None, Some(nested)) => {
                let config = read::read_part(nested);
                let config = config.and_then(|config| Self::read_inner(version, config));
                config.map_err(|misread| misread.within(NESTED))?
            }
            // Some callers leave out the wrapper.
            (A2aVersion::V03, Some(_), _) | (A2aVersion::V10, ..) => {
                let raw = raw.ok_or_else(|| FieldError::missing("url"))?;
                Self::read_inner(version, read::read_part(raw)?)?
            }
        };
        Ok(Self {
            task_id: Some(task),
            ..config
        })
    }

    /// Reads a config inside a field.
    pub(super) fn read_inner(
        version: A2aVersion,
        config: OpenPushConfig<'_>,
    ) -> Result<Self, FieldError> {
        let OpenObject {
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
    /// Reads an authentication. Credentials without a scheme are refused, because the scheme decides their
    /// use. An empty list of schemes, which 0.3 allows, means no authentication.
    fn read(version: A2aVersion, raw: &RawValue) -> Result<Option<Self>, FieldError> {
        match version {
            A2aVersion::V03 => Self::of_v03(read::read_part(raw)?),
            A2aVersion::V10 => {
                let given: AuthenticationV10 = read::read_part(raw)?;
                Ok(Some(Self {
                    schemes: vec![given.scheme],
                    credentials: given.credentials,
                }))
            }
        }
    }

    fn of_v03(given: AuthenticationV03) -> Result<Option<Self>, FieldError> {
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
            (true, ..) => Err(FieldError::missing("schemes")),
        }
    }
}
