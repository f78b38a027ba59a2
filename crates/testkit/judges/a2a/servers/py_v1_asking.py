"""A server of the published `a2a-sdk` 1.x that forwards every message to another agent, with the client of the same library,
and streams the answer.

    python py_v1_asking.py http://127.0.0.1:7411/a2a/agents/ID

The header `Jackfield-Call` of a message is forwarded too. Prints `cancelled` when a task is cancelled. See `stage.py`.
"""

import sys
import uuid

import httpx
import stage
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette

SOON = 20
CALL = "jackfield-call"


def words(parts):
    return "".join(part.text for part in parts)


class Asking(AgentExecutor):
    def __init__(self, url):
        self.url = url

    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        task = Task(
            id=context.task_id, context_id=context.context_id, status=submitted, history=[context.message]
        )
        await event_queue.enqueue_event(task)
        await updater.start_work()
        is_first = True
        async for event in self.answer(context):
            if event.HasField("artifact_update"):
                parts = [Part(text=words(event.artifact_update.artifact.parts))]
                await updater.add_artifact(parts, artifact_id="answer", append=not is_first)
                is_first = False
            elif event.HasField("status_update"):
                status = event.status_update.status
                if status.state == TaskState.TASK_STATE_COMPLETED:
                    return await updater.complete()
                if status.state == TaskState.TASK_STATE_FAILED:
                    why = updater.new_agent_message([Part(text=words(status.message.parts))])
                    return await updater.failed(why)

    async def answer(self, context):
        """Streams the other agent's answer."""
        given = context.call_context.state["headers"]
        headers = {CALL: given[CALL]} if CALL in given else {}
        # Certificates load slowly and aren't needed on loopback.
        async with httpx.AsyncClient(headers=headers, timeout=SOON, verify=False) as http:
            card = await A2ACardResolver(http, self.url).get_agent_card()
            client = ClientFactory(ClientConfig(streaming=True, httpx_client=http)).create(card)
            parts = [Part(text=context.get_user_input())]
            message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts)
            async for event in client.send_message(SendMessageRequest(message=message)):
                yield event

    async def cancel(self, context, event_queue):
        stage.tell("cancelled")
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


if __name__ == "__main__":
    listener, url = stage.listen()
    interface = AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
    card = AgentCard(
        name="Asking",
        description="Asks somebody else",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=[interface],
    )
    executor = Asking(sys.argv[1])
    handler = DefaultRequestHandler(agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=card)
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/")
    stage.play(Starlette(routes=routes), listener)
