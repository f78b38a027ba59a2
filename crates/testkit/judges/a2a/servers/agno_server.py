"""An A2A server of the published framework Agno, with a scripted model.

    python agno_server.py [many]

Its agent is at `/a2a/agents/actor`; with `many` there are a second agent of the same name, a team, a workflow, and an
agent outside of the interface. Agno has no artifacts, and no questions over A2A. See `stage.py`
and `script.py`.
"""

import contextlib
import dataclasses
import sys

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
    shown, hidden, teams, workflows = [agent], [], [], []
    if "many" in sys.argv:
        from agno.team import Team
        from agno.workflow import Workflow

        shown.append(Agent(id="second", name="Agno", model=Actor(), telemetry=False))
        hidden.append(Agent(id="hidden", name="Hidden", model=Actor(), telemetry=False))
        teams.append(Team(id="both", name="Both", members=shown, model=Actor(), telemetry=False))
        workflows.append(Workflow(id="flow", name="Flow", steps=[agent], telemetry=False))
    interface = A2A(agents=shown, teams=teams, workflows=workflows)
    system = AgentOS(
        agents=shown + hidden, teams=teams, workflows=workflows, interfaces=[interface], telemetry=False
    )
    stage.play(system.get_app(), listener)
