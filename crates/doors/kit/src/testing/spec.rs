//! Judges a response by the API's own description: the code must be declared, and the body fit its schema. Knows
//! as much of JSON Schema as the description uses.

use serde_json::Value;

/// Panics where the answer is not what the description says.
pub fn check(spec: &Value, method: &str, path: &str, status: u16, body: &Value) {
    let path = path.split('?').next().unwrap();
    let Some(operation) = operation(spec, method, path) else {
        assert!(
            [404, 405].contains(&status),
            "{method} {path} is not described: {status}"
        );
        return is_error(body);
    };
    let response = &operation["responses"][status.to_string()];
    assert!(
        !response.is_null(),
        "{method} {path}: {status} is not declared"
    );
    if status >= 400 {
        is_error(body);
    }
    let schema = &response["content"]["application/json"]["schema"];
    if schema.is_null() {
        assert!(
            body.is_null(),
            "{method} {path}: {status} has no body, but {body}"
        );
        return;
    }
    if let Err(why) = fits(spec, schema, body) {
        panic!("{method} {path} {status}: {why}\n{body:#}");
    }
}

fn is_error(body: &Value) {
    // Failures with a narrower cause or a wrong field name them for programs.
    let keys = body.as_object().unwrap().keys();
    let keys: Vec<_> = keys
        .filter(|key| !["cause", "field"].contains(&key.as_str()))
        .collect();
    assert_eq!(keys, ["error", "message"]);
}

fn operation<'a>(spec: &'a Value, method: &str, path: &str) -> Option<&'a Value> {
    let paths = spec["paths"].as_object().unwrap();
    let is_it = |template: &str| {
        let (wanted, got) = (template.split('/'), path.split('/'));
        wanted.clone().count() == got.clone().count()
            && wanted
                .zip(got)
                .all(|(wanted, got)| wanted == got || wanted.starts_with('{'))
    };
    let (_, item) = paths.iter().find(|(template, _)| is_it(template))?;
    item.get(method.to_lowercase())
}

/// Whether a value fits a schema, and if not, why.
pub fn fits(spec: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = spec
            .pointer(&name[1..])
            .ok_or(format!("{name} leads nowhere"))?;
        return fits(spec, schema, value);
    }
    for schema in list(&schema["allOf"]) {
        fits(spec, schema, value)?;
    }
    let one_of = list(&schema["oneOf"]);
    if !one_of.is_empty() {
        let results: Vec<_> = one_of.iter().map(|it| fits(spec, it, value)).collect();
        let count = results.iter().filter(|result| result.is_ok()).count();
        if count != 1 {
            return Err(format!("{value} fits {count} of {results:?}"));
        }
    }
    let any_of = list(&schema["anyOf"]);
    if !any_of.is_empty() && any_of.iter().all(|it| fits(spec, it, value).is_err()) {
        return Err(format!("{value} fits none of {any_of:?}"));
    }
    has_type(&schema["type"], value)?;
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Err(format!("{value} is none of {words:?}"));
    }
    if let Some(object) = value.as_object() {
        for name in list(&schema["required"]) {
            if !object.contains_key(name.as_str().unwrap()) {
                return Err(format!("{name} is missing"));
            }
        }
        for (name, value) in object {
            let property = &schema["properties"][name];
            if !property.is_null() {
                fits(spec, property, value).map_err(|why| format!("{name}: {why}"))?;
            } else if schema["additionalProperties"] == false {
                return Err(format!("{name} is not declared"));
            }
        }
    }
    if let Some(items) = value.as_array()
        && !schema["items"].is_null()
    {
        for item in items {
            fits(spec, &schema["items"], item)?;
        }
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn has_type(wanted: &Value, value: &Value) -> Result<(), String> {
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type {other}?"),
    };
    let fits = match wanted {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{value} is no {wanted}"))
    }
}

/// Panics where a reference of the description leads nowhere.
pub fn references_lead_somewhere(spec: &Value) {
    let mut names = Vec::new();
    references(spec, &mut names);
    assert!(names.len() > 20, "they were looked for");
    for name in names {
        assert!(spec.pointer(&name[1..]).is_some(), "{name} leads nowhere");
    }
}

fn references<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(name)) = object.get("$ref") {
                names.push(name);
            }
            object.values().for_each(|value| references(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
