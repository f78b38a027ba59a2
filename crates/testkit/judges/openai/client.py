"""An outside judge of the OpenAI door: OpenAI's own client for Python.

    python client.py URL MODEL...

URL is the hub's /v1. Each MODEL is an agent that behaves as `a2a/promise.py` says: it answers `hello`, `count` (the second half
after a `release`), `ask`, `work` (until it is cancelled), and any other message with `You said: MESSAGE`.
"""

import sys
import time

import openai

LIMIT = 60
COUNTED = "".join(f"{number} " for number in range(1, 21))
HALF = "10 "


def user(text):
    return {"role": "user", "content": text}


def chats(client, model):
    """Whole and streamed chats, a question, and a stream that is closed early."""
    said = client.chat.completions.create(model=model, messages=[user("hello")])
    assert said.object == "chat.completion", said
    assert said.choices[0].message.content == "Hello, world", said
    assert said.choices[0].finish_reason == "stop", said

    text, usage, ends = "", None, []
    stream = client.chat.completions.create(
        model=model, messages=[user("count")], stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            ends += [choice.finish_reason] if choice.finish_reason else []
        # The second half comes only now: the first one has been streamed.
        if text.endswith(HALF) and text.count(HALF) == 1:
            released = client.chat.completions.create(model=model, messages=[user("release")])
            assert released.choices[0].message.content == "released", released
    assert text == COUNTED, text
    assert ends == ["stop"], ends
    assert usage is not None and usage.total_tokens >= 0, usage

    talk = [user("ask")]
    asked = client.chat.completions.create(model=model, messages=talk)
    question = asked.choices[0].message
    assert question.content == "Which colour?", asked
    assert asked.choices[0].finish_reason == "stop", asked
    talk += [{"role": "assistant", "content": question.content}, user("blue")]
    answered = client.chat.completions.create(model=model, messages=talk)
    assert answered.choices[0].message.content == "You said: blue", answered

    with client.chat.completions.create(model=model, messages=[user("work")], stream=True) as working:
        for chunk in working:
            if chunk.choices and chunk.choices[0].delta.content:
                break


def responses(client, model):
    """Responses: whole, streamed, continued, asking, in the background, resumed and cancelled."""
    first = client.responses.create(model=model, input="hello")
    assert first.status == "completed", first
    assert first.output_text == "Hello, world", first
    again = client.responses.retrieve(first.id)
    assert again.output_text == first.output_text, again
    items = client.responses.input_items.list(first.id).data
    assert items[0].content[0].text == "hello", items
    second = client.responses.create(model=model, input="blue", previous_response_id=first.id)
    assert second.output_text == "You said: blue", second

    with client.responses.stream(model=model, input="hello") as stream:
        events = [event.type for event in stream]
        whole = stream.get_final_response()
    assert events[0] == "response.created" and events[-1] == "response.completed", events
    assert whole.output_text == "Hello, world", whole

    asked = client.responses.create(model=model, input="ask")
    assert asked.output_text == "Which colour?", asked
    answered = client.responses.create(model=model, input="green", previous_response_id=asked.id)
    assert answered.output_text == "You said: green", answered

    # The connection is lost in the middle, and the rest is read from the event that was seen last.
    stream = client.responses.create(model=model, input="count", background=True, stream=True)
    text, seen, id_ = "", None, None
    for event in stream:
        id_ = id_ or event.response.id
        seen = event.sequence_number
        if event.type == "response.output_text.delta":
            text += event.delta
        if text.endswith(HALF):
            break
    stream.close()
    assert client.responses.retrieve(id_).status == "in_progress"
    assert client.responses.create(model=model, input="release").output_text == "released"
    for event in client.responses.retrieve(id_, stream=True, starting_after=seen):
        assert event.sequence_number > seen, event
        if event.type == "response.output_text.delta":
            text += event.delta
    assert event.type == "response.completed", event
    assert text == event.response.output_text == COUNTED, text

    working = client.responses.create(model=model, input="work", background=True)
    assert working.status in ("queued", "in_progress"), working
    cancelled = client.responses.cancel(working.id)
    assert cancelled.status == "cancelled", cancelled
    done = client.responses.create(model=model, input="hello", background=True)
    until = time.monotonic() + LIMIT
    while done.status in ("queued", "in_progress"):
        assert time.monotonic() < until, done
        time.sleep(0.01)
        done = client.responses.retrieve(done.id)
    assert done.output_text == "Hello, world", done

    kept = client.responses.create(model=model, input="hello", store=False)
    assert kept.output_text == "Hello, world", kept
    try:
        client.responses.retrieve(kept.id)
        raise AssertionError("it was to be forgotten")
    except openai.NotFoundError:
        pass


def refusals(client, model):
    """Errors are those that the client knows, with the field."""
    for error, field, request in [
        (openai.NotFoundError, "model", {"model": "nobody", "messages": [user("x")]}),
        (openai.BadRequestError, "n", {"model": model, "messages": [user("x")], "n": 2}),
        (openai.BadRequestError, "messages", {"model": model, "messages": []}),
    ]:
        try:
            client.chat.completions.create(**request)
            raise AssertionError(f"{request} was to be refused")
        except error as refused:
            assert refused.param == field, refused
    try:
        client.embeddings.create(model=model, input="x")
        raise AssertionError("there are no embeddings")
    except openai.NotFoundError as refused:
        assert refused.code == "unknown_url", refused


def main(url, *models):
    client = openai.OpenAI(base_url=url, api_key="sk-xxx", timeout=LIMIT)
    listed = {model.id for model in client.models.list()}
    for model in models:
        assert f"jackfield/{model}" in listed, listed
        assert client.models.retrieve(f"jackfield/{model}").owned_by == "local"
        chats(client, model)
        responses(client, f"jackfield/{model}")
        refusals(client, model)
        print(f"{model}: chats, responses and errors are fine")


main(*sys.argv[1:])
