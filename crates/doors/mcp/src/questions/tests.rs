use jackfield_model::Part;
use serde_json::{Value, json};

use super::*;

fn ask(kind: AskKind, schema: Option<Value>) -> Ask {
    Ask {
        id: "q".to_owned(),
        kind,
        text: "which one?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: schema.map(Into::into),
    }
}

fn asked(kind: AskKind, schema: Option<Value>) -> Question {
    Question::Asked {
        call: CallId::new(),
        ask: ask(kind, schema),
    }
}

/// What becomes of a response to this question.
fn answered(question: Question, response: Value) -> Result<Answer, Failure> {
    let responses = InputResponses::from([(question.key(), response)]);
    let answered = read(vec![question], &responses)?;
    Ok(answered.into_iter().next().unwrap().answer)
}

fn fields() -> Value {
    json!({
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["blue", "red"]},
            "count": {"type": "integer"},
            "sure": {"type": "boolean"},
        },
        "required": ["colour"],
    })
}

#[test]
fn a_question_is_asked_in_a_form_of_its_schema() {
    let schema = |question: &Question| {
        let params = serde_json::to_value(question.params("amy")).unwrap();
        assert_eq!(params["mode"], "form");
        assert_eq!(params["message"], "The agent amy asks: which one?");
        params["requestedSchema"].clone()
    };
    let text = json!({"type": "string", "title": "Answer"});
    let one = |field: Value| json!({"type": "object", "properties": {"answer": field}, "required": ["answer"]});
    assert_eq!(schema(&asked(AskKind::Input, None)), one(text.clone()));
    let number = json!({"type": "integer"});
    let of_number = schema(&asked(AskKind::Input, Some(number.clone())));
    assert_eq!(of_number, one(number));
    assert_eq!(schema(&asked(AskKind::Input, Some(fields()))), fields());
    // A form has no fields within fields.
    let deep = json!({"type": "object", "properties": {"x": {"type": "object"}}});
    assert_eq!(schema(&asked(AskKind::Input, Some(deep))), one(text));
}

#[test]
fn an_accepted_answer_reaches_the_agent_as_text_and_data() {
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let words = answered(
        asked(AskKind::Input, None),
        accept(json!({"answer": "the blue one"})),
    );
    assert_eq!(words.unwrap().content.as_deref(), Some("the blue one"));
    let number = asked(AskKind::Input, Some(json!({"type": "integer"})));
    let number = answered(number, accept(json!({"answer": 5}))).unwrap();
    assert_eq!(number.content.as_deref(), Some("5"));
    let content = json!({"colour": "blue", "count": 2, "sure": null});
    let form = answered(
        asked(AskKind::Input, Some(fields())),
        accept(content.clone()),
    )
    .unwrap();
    assert_eq!(form.content, Some(content.to_string()));
    assert_eq!(form.parts, [Part::Data(content.into())]);
    let leave = answered(
        asked(AskKind::Approval, None),
        accept(json!({"approve": true})),
    );
    assert_eq!(leave.unwrap().approved, Some(true));
}

#[test]
fn a_user_who_declines_answers_too() {
    for action in ["decline", "cancel"] {
        let response = json!({"action": action});
        let words = answered(asked(AskKind::Input, None), response.clone()).unwrap();
        assert!(words.content.unwrap().starts_with("The user d"), "{action}");
        assert_eq!(words.approved, None);
        let leave = answered(asked(AskKind::Approval, None), response).unwrap();
        assert_eq!((leave.approved, leave.content), (Some(false), None));
    }
}

#[test]
fn an_answer_of_a_wrong_type_is_refused_with_its_field() {
    let accept = |content: Value| json!({"action": "accept", "content": content});
    for (response, named) in [
        (json!(5), "give `action`"),
        (json!({"action": "maybe"}), "give `action`"),
        (json!({"action": "accept"}), "`content` must be an object"),
        (accept(json!("blue")), "`content` must be an object"),
        (accept(json!({})), "`content.colour` is missing"),
        (
            accept(json!({"colour": null})),
            "`content.colour` is missing",
        ),
        (
            accept(json!({"colour": 5})),
            "`content.colour` must be of type string, out of \"blue\", \"red\"",
        ),
        (accept(json!({"colour": "green"})), "`content.colour`"),
        (
            accept(json!({"colour": "red", "count": 1.5})),
            "`content.count` must be of type integer",
        ),
        (
            accept(json!({"colour": "red", "sure": "yes"})),
            "`content.sure`",
        ),
    ] {
        let refused = answered(asked(AskKind::Input, Some(fields())), response.clone());
        let failure = refused.unwrap_err();
        assert!(failure.text.contains(named), "{response}: {}", failure.text);
        assert!(failure.text.contains("inputResponses["), "{}", failure.text);
    }
    let leave = answered(
        asked(AskKind::Approval, None),
        accept(json!({"approve": "yes"})),
    );
    assert!(leave.unwrap_err().text.contains("`content.approve`"));
}

#[test]
fn answers_to_other_questions_are_left_out() {
    let responses = InputResponses::from([("ask of before".to_owned(), json!(5))]);
    let read = read(vec![asked(AskKind::Input, None)], &responses).unwrap();
    assert!(read.is_empty());
}

#[test]
fn a_turn_that_ends_with_a_question_is_asked_by_its_last_words() {
    let message = |text: &str| {
        let question = Question::Ended {
            call: CallId::new(),
            text: text.to_owned(),
        };
        let params = serde_json::to_value(question.params("amy")).unwrap();
        params["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(message("And then?"), "The agent amy says: And then?");
    assert_eq!(message(" \n"), "The agent amy waits for an answer.");
    let long = message(&format!("{}And then?", "é".repeat(QUESTION)));
    assert!(long.len() < QUESTION + 40, "{}", long.len());
    assert!(long.starts_with("The agent amy says: …é") && long.ends_with("And then?"));
}
