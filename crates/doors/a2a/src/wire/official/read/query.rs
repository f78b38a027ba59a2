//! Readers for params in a query string, for REST.

use jackfield_wire::read::FieldError;

use super::{
    super::{
        A2aVersion,
        error::A2aError,
        fields::{count, here, integer, is_name},
        model::{A2aState, GetParams, ListParams, PushListParams},
    },
    params::{filter, page_size, since, since_millis},
};

impl A2aVersion {
    /// Reads the params for listing tasks.
    pub(crate) fn list_from_query<'a>(
        self,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<ListParams, A2aError> {
        let query = DecodedQuery::of(pairs);
        let state = query.read("status", |text| {
            self.check_state_name(Some(text))?;
            // The number of a state is accepted too.
            let number = || integer(text).and_then(A2aState::from_number);
            let state = A2aState::from_name(text).or_else(number);
            state.ok_or_else(|| here("must be the name of a state"))
        })?;
        let after = query.read("statusTimestampAfter", since)?;
        // Name of the time filter in the conformance kit of 0.3.
        let updated_after = query.read("lastUpdatedAfter", |text| since_millis(integer(text)))?;
        Ok(ListParams {
            tenant: query.text("tenant")?,
            context_id: query.text("contextId")?,
            state: filter(self, state),
            page_size: query.read("pageSize", |text| page_size(integer(text)))?,
            page_token: query.text("pageToken")?,
            history_length: query.count("historyLength")?,
            status_timestamp_after: after.or(updated_after),
            include_artifacts: query.flag("includeArtifacts")?.unwrap_or(false),
        })
    }

    /// Reads the params for fetching a task, which the path names.
    pub(crate) fn get_from_query<'a>(
        self,
        task: &str,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<GetParams, A2aError> {
        let query = DecodedQuery::of(pairs);
        Ok(GetParams {
            tenant: query.text("tenant")?,
            id: task.to_owned(),
            history_length: query.count("historyLength")?,
        })
    }

    /// Reads the params for listing push configs of a task, which the path names.
    pub(crate) fn push_list_from_query<'a>(
        self,
        task: &str,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<PushListParams, A2aError> {
        let query = DecodedQuery::of(pairs);
        Ok(PushListParams {
            tenant: query.text("tenant")?,
            task_id: task.to_owned(),
            page_size: query.count("pageSize")?.filter(|size| *size > 0),
            page_token: query.text("pageToken")?,
        })
    }
}

/// Decoded params of a query. An empty value counts as absent.
#[derive(Debug)]
struct DecodedQuery<'a>(Vec<(&'a str, &'a str)>);

impl<'a> DecodedQuery<'a> {
    fn of(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        let mut found = self.0.iter().filter(|(given, _)| is_name(given, name));
        let Some((_, value)) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return Err(FieldError::duplicate(name));
        }
        read(value)
            .map(Some)
            .map_err(|misread| misread.within(name))
    }

    fn text(&self, name: &str) -> Result<Option<String>, FieldError> {
        self.read(name, |text| Ok(text.to_owned()))
    }

    fn count(&self, name: &str) -> Result<Option<usize>, FieldError> {
        self.read(name, |text| count(integer(text)))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, FieldError> {
        self.read(name, |text| match text {
            "true" | "True" | "1" => Ok(true),
            "false" | "False" | "0" => Ok(false),
            _ => Err(here("must be true or false")),
        })
    }
}
