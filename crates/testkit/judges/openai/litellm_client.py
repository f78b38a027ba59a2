"""An outside judge of the OpenAI door: LiteLLM as a client.

    python litellm_client.py URL MODEL...

The arguments and the agents are those of client.py.
"""

import os
import sys

# It would fetch the prices of models otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

HALF = "10 "
COUNTED = "".join(f"{number} " for number in range(1, 21))


def main(url, *models):
    litellm.telemetry = False
    for name in models:

        def ask(*messages, name=name, **more):
            # LiteLLM takes the provider off the name.
            return litellm.completion(
                model=f"openai/{name}",
                api_base=url,
                api_key="sk-xxx",
                timeout=60,
                messages=[{"role": role, "content": text} for role, text in messages],
                **more,
            )

        said = ask(("user", "hello"))
        assert said.choices[0].message.content == "Hello, world", said
        assert said.choices[0].finish_reason == "stop", said

        text = ""
        for chunk in ask(("user", "count"), stream=True):
            text += chunk.choices[0].delta.content or ""
            # The second half comes only now: the first one has been streamed.
            if text.endswith(HALF) and text.count(HALF) == 1:
                assert ask(("user", "release")).choices[0].message.content == "released"
        assert text == COUNTED, text

        asked = ask(("user", "ask")).choices[0].message.content
        assert asked == "Which colour?", asked
        answered = ask(("user", "ask"), ("assistant", asked), ("user", "blue"))
        assert answered.choices[0].message.content == "You said: blue", answered

        response = litellm.responses(
            model=f"openai/{name}", api_base=url, api_key="sk-xxx", input="hello"
        )
        assert response.output[0].content[0].text == "Hello, world", response
        try:
            ask(("user", "x"), name="nobody", num_retries=0)
            raise AssertionError("it was to be refused")
        except litellm.NotFoundError as refused:
            assert "nobody" in str(refused), refused
        print(f"{name}: text, streams, questions, responses and errors are fine")


main(*sys.argv[1:])
