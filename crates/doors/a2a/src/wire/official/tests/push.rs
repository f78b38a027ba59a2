//! Push configs and what is asked about them.

use super::*;
use crate::wire::official::v03_proto;

const NESTED: &str = r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://e.x/h","token":"k","authentication":{"schemes":["Bearer"],"credentials":"s"}}}"#;
const FLAT: &str = r#"{"id":"p","taskId":"t","url":"https://e.x/h","token":"k","authentication":{"scheme":"Bearer","credentials":"s"}}"#;
const NAMED: &str = r#"{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"https://e.x/h","token":"k","authentication":{"schemes":["Bearer"],"credentials":"s"}}}"#;
const CREATE_REST: &str = r#"{"parent":"tasks/t","config_id":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","push_notification_config":{"id":"","url":"https://e.x/h","token":"k","authentication":{"schemes":["Bearer"],"credentials":"s"}}}}"#;

#[test]
fn a_config_looks_as_each_version_has_it() {
    let (old, new) = (A2aVersion::V03, A2aVersion::V10);
    for config in [
        old.read_push(Some(raw(NESTED)), MAX_DEPTH),
        new.read_push(Some(raw(FLAT)), MAX_DEPTH),
        old.push_from_body("t", Some(raw(NESTED)), MAX_DEPTH),
        old.push_from_body("t", Some(raw(NAMED)), MAX_DEPTH),
        old.push_from_body("t", Some(raw(CREATE_REST)), MAX_DEPTH),
        new.push_from_body("t", Some(raw(FLAT)), MAX_DEPTH),
    ] {
        let config = config.unwrap().config;
        assert_eq!(written(|out| old.write_push(&config, out)), NESTED);
        assert_eq!(written(|out| new.write_push(&config, out)), FLAT);
        assert_eq!(written(|out| v03_proto::write_push(&config, out)), NAMED);
        let configs = [config.clone(), config];
        assert_eq!(
            written(|out| old.write_pushes(&configs, "", out)),
            format!("[{NESTED},{NESTED}]")
        );
        assert_eq!(
            written(|out| new.write_pushes(&configs, "next", out)),
            format!(r#"{{"configs":[{FLAT},{FLAT}],"nextPageToken":"next"}}"#)
        );
        assert_eq!(
            written(|out| v03_proto::write_pushes(&configs, "", out)),
            format!(r#"{{"configs":[{NAMED},{NAMED}]}}"#)
        );
    }
    assert_eq!(written(|out| old.write_pushes(&[], "", out)), "[]");
    assert_eq!(
        written(|out| new.write_pushes(&[], "", out)),
        r#"{"configs":[]}"#
    );
    assert_eq!(written(|out| old.write_nothing(out)), "null");
    assert_eq!(written(|out| new.write_nothing(out)), "{}");
}

#[test]
fn a_config_is_for_the_agent_that_the_request_names() {
    let named = |json: &str| json.replacen('{', r#"{"tenant":"x","#, 1);
    let (old, new) = (A2aVersion::V03, A2aVersion::V10);
    for (version, json) in [(old, NESTED), (new, FLAT), (old, CREATE_REST)] {
        let read = |json: &str| {
            let params = version.push_from_body("t", Some(raw(json)), MAX_DEPTH);
            params.unwrap()
        };
        assert_eq!(read(json).tenant, None);
        let params = read(&named(json));
        assert_eq!(params.tenant.as_deref(), Some("x"));
        let out = written(|out| version.write_push(&params.config, out));
        assert!(!out.contains("tenant"), "{out}");
    }
    for (version, json) in [(old, NESTED), (new, FLAT)] {
        let params = version.read_push(Some(raw(&named(json))), MAX_DEPTH);
        assert_eq!(params.unwrap().tenant.as_deref(), Some("x"));
    }
}

#[test]
fn the_least_of_a_config_is_where_to() {
    let json = r#"{"taskId":"t","url":"u","token":"","authentication":null}"#;
    for version in BOTH {
        let params = version.read_push(Some(raw(json)), MAX_DEPTH).unwrap();
        let config = params.config;
        assert!(config.id.is_none() && config.token.is_none());
        assert!(config.authentication.is_none());
    }
    for (version, json, expected) in [
        (A2aVersion::V03, "{}", "taskId"),
        (
            A2aVersion::V03,
            r#"{"taskId":"t"}"#,
            "pushNotificationConfig",
        ),
        (
            A2aVersion::V03,
            r#"{"taskId":"t","pushNotificationConfig":{}}"#,
            "pushNotificationConfig.url",
        ),
        (A2aVersion::V10, r#"{"url":"u"}"#, "taskId"),
        (A2aVersion::V10, r#"{"taskId":"t","url":""}"#, "url"),
        (
            A2aVersion::V10,
            r#"{"taskId":"t","url":"u","authentication":7}"#,
            "authentication",
        ),
    ] {
        let fault = version.read_push(Some(raw(json)), MAX_DEPTH).unwrap_err();
        assert_eq!(field(&fault), expected, "{json}");
    }
    let body = raw(r#"{"config":{"pushNotificationConfig":{"url":3}}}"#);
    let fault = A2aVersion::V03.push_from_body("t", Some(body), MAX_DEPTH);
    assert_eq!(
        field(&fault.unwrap_err()),
        "config.pushNotificationConfig.url"
    );
}

#[test]
fn authentication_needs_a_scheme() {
    let read = |version: A2aVersion, authentication: &str| {
        let json = format!(r#"{{"taskId":"t","url":"u","authentication":{authentication}}}"#);
        let params = version.read_push(Some(raw(&json)), MAX_DEPTH);
        params.map(|params| params.config.authentication)
    };
    for (version, authentication, missing) in [
        (A2aVersion::V10, "{}", "authentication.scheme"),
        (A2aVersion::V10, r#"{"scheme":""}"#, "authentication.scheme"),
        (
            A2aVersion::V10,
            r#"{"credentials":"c"}"#,
            "authentication.scheme",
        ),
        (A2aVersion::V03, "{}", "authentication.schemes"),
        (
            A2aVersion::V03,
            r#"{"schemes":[],"credentials":"c"}"#,
            "authentication.schemes",
        ),
    ] {
        let fault = read(version, authentication).unwrap_err();
        assert_eq!(field(&fault), missing, "{version} {authentication}");
        assert_eq!(fault.code(), -32602);
    }
    // The list may be empty in 0.3: nothing is shown then.
    assert!(
        read(A2aVersion::V03, r#"{"schemes":[]}"#)
            .unwrap()
            .is_none()
    );
    let named = read(A2aVersion::V10, r#"{"scheme":"Bearer"}"#).unwrap();
    assert_eq!(named.unwrap().schemes, ["Bearer"]);
}

#[test]
fn a_config_is_named_by_its_task_and_its_id() {
    let old = |json| A2aVersion::V03.read_push_params(Some(raw(json)), MAX_DEPTH);
    let new = |json| A2aVersion::V10.read_push_params(Some(raw(json)), MAX_DEPTH);
    let named = old(r#"{"id":"t","pushNotificationConfigId":"p"}"#).unwrap();
    assert_eq!((&*named.task_id, named.id.as_deref()), ("t", Some("p")));
    assert_eq!(old(r#"{"id":"t"}"#).unwrap().id, None);
    assert_eq!(field(&old("{}").unwrap_err()), "id");
    let named = new(r#"{"task_id":"t","id":"p","tenant":"x"}"#).unwrap();
    assert_eq!((&*named.task_id, named.id.as_deref()), ("t", Some("p")));
    assert_eq!(named.tenant.as_deref(), Some("x"));
    assert_eq!(field(&new(r#"{"taskId":"t"}"#).unwrap_err()), "id");
    assert_eq!(field(&new(r#"{"id":"p"}"#).unwrap_err()), "taskId");
}

#[test]
fn configs_are_listed_by_their_task() {
    let list = A2aVersion::V03
        .read_push_list(Some(raw(r#"{"id":"t"}"#)), MAX_DEPTH)
        .unwrap();
    assert_eq!((&*list.task_id, list.page_size), ("t", None));
    let json = raw(r#"{"taskId":"t","pageSize":0,"pageToken":""}"#);
    let list = A2aVersion::V10
        .read_push_list(Some(json), MAX_DEPTH)
        .unwrap();
    assert_eq!((list.page_size, list.page_token), (None, None));
    let query = [("page_size", "5"), ("pageToken", "n")];
    let list = A2aVersion::V10
        .push_list_from_query("t", query.into_iter())
        .unwrap();
    assert_eq!(
        (list.page_size, list.page_token.as_deref()),
        (Some(5), Some("n"))
    );
    let fault = A2aVersion::V10.push_list_from_query("t", [("pageSize", "-1")].into_iter());
    assert_eq!(field(&fault.unwrap_err()), "pageSize");
}
