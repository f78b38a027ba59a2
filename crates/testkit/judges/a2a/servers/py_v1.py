"""A server of the published `a2a-sdk` 1.x: version 1.0, by JSON-RPC and REST.

    python py_v1.py JSONRPC|HTTP+JSON

The argument selects the binding on the card. See `stage.py` and `script.py`.
"""

import contextlib
import sys

import script
import stage
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from starlette.applications import Starlette

PATHS = {"JSONRPC": "/", "HTTP+JSON": "/rest"}


class Actor(AgentExecutor):
    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        text = context.get_user_input()
        metadata = MessageToDict(context.message.metadata)

        def said(text):
            return updater.new_agent_message([Part(text=text)])

        async with contextlib.aclosing(script.answer(text, context.current_task is not None)) as steps:
            is_first = True
            async for step in steps:
                if isinstance(step, script.Brief):
                    await event_queue.enqueue_event(
                        Message(
                            message_id="brief",
                            context_id=context.context_id,
                            role=Role.ROLE_AGENT,
                            parts=[Part(text="briefly")],
                        )
                    )
                    return
                if is_first:
                    await self.begin(context, event_queue, updater)
                if isinstance(step, script.Say):
                    parts = [Part(text=step.text)]
                    await updater.add_artifact(
                        parts, artifact_id="answer", append=not is_first, metadata=metadata or None
                    )
                elif isinstance(step, script.Ask):
                    return await updater.requires_input(said(script.QUESTION))
                elif isinstance(step, script.Fail):
                    return await updater.failed(said(script.FAILURE))
                elif isinstance(step, script.Attach):
                    file = script.FILE
                    part = Part(raw=file["bytes"], filename=file["name"], media_type=file["type"])
                    await updater.add_artifact([part], artifact_id="file", name="the file")
                    part = Part(data=ParseDict(script.DATA, Value()))
                    await updater.add_artifact([part], artifact_id="data", name="the data")
                is_first = False
        await updater.complete()

    async def begin(self, context, event_queue, updater):
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                    history=[context.message],
                )
            )
        await updater.start_work()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url, binding):
    return AgentCard(
        name="Python 1.0",
        description="Answers by the text",
        version="1.2.3",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="talk", name="Talk", description="Talks", tags=["talk"])],
        supported_interfaces=[
            AgentInterface(url=url + PATHS[binding], protocol_binding=binding, protocol_version="1.0")
        ],
    )


if __name__ == "__main__":
    listener, url = stage.listen()
    card = card(url, sys.argv[1])
    handler = DefaultRequestHandler(agent_executor=Actor(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, PATHS["JSONRPC"])
    # The last route matches every path with two segments as a tenant's path.
    routes += create_rest_routes(handler, path_prefix=PATHS["HTTP+JSON"])
    stage.play(Starlette(routes=routes), listener)
