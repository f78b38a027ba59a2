"""An A2A server of Google's published Agent Development Kit, with a scripted model.

    python adk_server.py

See `stage.py` and `script.py`. The kit asks users by long-running tools, so `ask` fails here.
"""

import contextlib
import urllib.parse

import script
import stage
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


def content(*parts):
    return types.Content(role="model", parts=list(parts))


class Actor(BaseLlm):
    """Answers the last message by the script: piece by piece, and then the whole text, as models do here."""

    async def generate_content_async(self, llm_request, stream=False):
        text = "".join(part.text or "" for part in llm_request.contents[-1].parts)
        whole = ""
        async with contextlib.aclosing(script.answer(text)) as steps:
            async for step in steps:
                if isinstance(step, script.Say):
                    whole += step.text
                    yield LlmResponse(content=content(types.Part(text=step.text)), partial=True)
                elif isinstance(step, script.Attach):
                    file = script.FILE
                    blob = types.Blob(data=file["bytes"], mime_type=file["type"], display_name=file["name"])
                    yield LlmResponse(content=content(types.Part(inline_data=blob)))
                    return
                else:
                    raise RuntimeError(script.FAILURE)
        yield LlmResponse(content=content(types.Part(text=whole)), partial=False)


if __name__ == "__main__":
    listener, url = stage.listen()
    origin = urllib.parse.urlsplit(url)
    agent = LlmAgent(name="actor", description="Answers by the text", model=Actor(model="actor"))
    stage.play(to_a2a(agent, host=origin.hostname, port=origin.port), listener)
