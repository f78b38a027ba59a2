//! Push configs, and the params of the operations on them.

use serde_json::value::RawValue;

use super::super::{
    Version,
    error::Fault,
    fields::{Fields, REQUIRED, Wrong},
    model::{Authentication, PushConfig, PushCreateParams, PushListParams, PushParams},
};

/// The fields of a push config, in both versions.
const KNOWN: [&str; 7] = [
    "tenant",
    "id",
    "taskId",
    "url",
    "token",
    "authentication",
    "name",
];

impl Version {
    /// Reads the params that have somebody notified.
    pub(crate) fn read_push(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        let task = fields.require_word("taskId")?;
        Ok(PushCreateParams {
            tenant: fields.word("tenant")?,
            config: PushConfig::read(self, &fields, task)?,
        })
    }

    /// The same where the task is named in the address.
    pub(crate) fn push_from_body(
        self,
        task: &str,
        body: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushCreateParams, Fault> {
        let fields = Fields::of_params(body, max_depth)?;
        let tenant = fields.word("tenant")?;
        let task = task.to_owned();
        let Some(inner) = fields.object("config")?.filter(|_| self == Self::V03) else {
            let config = PushConfig::read(self, &fields, task)?;
            return Ok(PushCreateParams { tenant, config });
        };
        // What callers of REST in 0.3 put around it.
        let config = PushConfig::read(self, &inner, task);
        let mut config = config.map_err(|wrong| wrong.within("config"))?;
        if config.id.is_none() {
            config.id = fields.word("configId")?;
        }
        Ok(PushCreateParams { tenant, config })
    }

    /// Reads the params that name a push config.
    pub(crate) fn read_push_params(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        let (task_id, id) = match self {
            Self::V03 => (
                fields.require_word("id")?,
                fields.word("pushNotificationConfigId")?,
            ),
            Self::V10 => (
                fields.require_word("taskId")?,
                Some(fields.require_word("id")?),
            ),
        };
        Ok(PushParams {
            tenant: fields.word("tenant")?,
            task_id,
            id,
        })
    }

    /// Reads the params that ask for the push configs of a task.
    pub(crate) fn read_push_list(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<PushListParams, Fault> {
        let fields = Fields::of_params(params, max_depth)?;
        let task = match self {
            Self::V03 => "id",
            Self::V10 => "taskId",
        };
        let page_size = fields.count("pageSize")?.filter(|size| *size > 0);
        Ok(PushListParams {
            tenant: fields.word("tenant")?,
            task_id: fields.require_word(task)?,
            // Version 0.3 answers with a bare list here, which has no place for what asks for the next page.
            page_size: page_size.filter(|_| self == Self::V10),
            page_token: fields.word("pageToken")?,
        })
    }
}

impl PushConfig {
    /// Reads the config of a task.
    fn read(version: Version, fields: &Fields<'_>, task: String) -> Result<Self, Wrong> {
        const NESTED: &str = "pushNotificationConfig";
        let config = match version {
            // Some callers leave out what is around it.
            Version::V03 if fields.raw("url")?.is_none() => {
                fields.require(NESTED, |raw| Self::read_inner(version, raw))?
            }
            Version::V03 | Version::V10 => Self::read_flat(version, fields)?,
        };
        Ok(Self {
            task_id: Some(task),
            ..config
        })
    }

    /// Reads a config that stands in a field of something.
    pub(super) fn read_inner(version: Version, raw: &RawValue) -> Result<Self, Wrong> {
        Self::read_flat(version, &Fields::of(raw)?)
    }

    fn read_flat(version: Version, fields: &Fields<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            id: fields.word("id")?,
            task_id: fields.word("taskId")?,
            url: fields.require_word("url")?,
            token: fields.word("token")?,
            authentication: fields
                .read("authentication", |raw| Authentication::read(version, raw))?
                .flatten(),
            extra: fields.extra(version, &KNOWN),
        })
    }
}

impl Authentication {
    /// Reads it. Without a scheme nobody knows how to show the credentials. An empty list of schemes, which 0.3 allows, is as
    /// good as no authentication at all.
    fn read(version: Version, raw: &RawValue) -> Result<Option<Self>, Wrong> {
        let fields = Fields::of(raw)?;
        let credentials = fields.word("credentials")?;
        let mut schemes = match version {
            Version::V03 => fields.texts("schemes")?,
            Version::V10 => Vec::new(),
        };
        schemes.extend(fields.word("scheme")?);
        schemes.retain(|scheme| !scheme.is_empty());
        if !schemes.is_empty() {
            return Ok(Some(Self {
                schemes,
                credentials,
            }));
        }
        match version {
            Version::V03 if credentials.is_none() && fields.raw("schemes")?.is_some() => Ok(None),
            Version::V03 => Err(Wrong::at("schemes", REQUIRED)),
            Version::V10 => Err(Wrong::at("scheme", REQUIRED)),
        }
    }
}
