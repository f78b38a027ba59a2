"""An A2A server of the published framework Agno, with a scripted model.

    python agno_server.py

Its agent is at `/a2a/agents/actor`. Agno has no artifacts, and no questions over A2A. See `stage.py`
and `script.py`.
"""

import contextlib
import dataclasses

import script
import stage
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.os.interfaces.a2a import A2A


@dataclasses.dataclass
class Actor(Model):
    """Answers the last message by the script."""

    id: str = "actor"
    name: str = "actor"
    provider: str = "nobody"

    async def ainvoke_stream(self, messages, *args, **kwargs):
        async with contextlib.aclosing(script.answer(messages[-1].content)) as steps:
            async for step in steps:
                if isinstance(step, script.Say):
                    yield ModelResponse(role="assistant", content=step.text)
                else:
                    raise RuntimeError(script.FAILURE)

    async def ainvoke(self, messages, *args, **kwargs):
        pieces = [piece.content async for piece in self.ainvoke_stream(messages)]
        return ModelResponse(role="assistant", content="".join(pieces))

    def invoke(self, *args, **kwargs):
        raise NotImplementedError

    invoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


if __name__ == "__main__":
    # The card contains the host of the request, so the announced URL isn't needed.
    listener, _ = stage.listen()
    agent = Agent(id="actor", name="Agno", model=Actor(), db=InMemoryDb(), telemetry=False)
    system = AgentOS(agents=[agent], interfaces=[A2A(agents=[agent])], telemetry=False)
    stage.play(system.get_app(), listener)
