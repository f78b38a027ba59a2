"""A server of the published `a2a-sdk` 0.3: version 0.3, by JSON-RPC and REST.

    python py_v03.py JSONRPC|HTTP+JSON

The argument selects the binding on the card. See `stage.py` and `script.py`.
"""

import base64
import contextlib
import sys

import script
import stage
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AFastAPIApplication, A2ARESTFastAPIApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentSkill,
    DataPart,
    FilePart,
    FileWithBytes,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
)

PATHS = {"JSONRPC": "/", "HTTP+JSON": "/rest"}


def text_part(text):
    return Part(root=TextPart(text=text))


class Actor(AgentExecutor):
    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        text = context.get_user_input()

        def said(text):
            return updater.new_agent_message([text_part(text)])

        async with contextlib.aclosing(script.answer(text, context.current_task is not None)) as steps:
            is_first = True
            async for step in steps:
                if isinstance(step, script.Brief):
                    await event_queue.enqueue_event(
                        Message(
                            message_id="brief",
                            context_id=context.context_id,
                            role=Role.agent,
                            parts=[text_part("briefly")],
                        )
                    )
                    return
                if is_first:
                    await self.begin(context, event_queue, updater)
                if isinstance(step, script.Say):
                    await updater.add_artifact(
                        [text_part(step.text)],
                        artifact_id="answer",
                        append=not is_first,
                        metadata=context.message.metadata,
                    )
                elif isinstance(step, script.Ask):
                    return await updater.requires_input(said(script.QUESTION), final=True)
                elif isinstance(step, script.Fail):
                    return await updater.failed(said(script.FAILURE))
                elif isinstance(step, script.Attach):
                    file = script.FILE
                    content = FileWithBytes(
                        bytes=base64.b64encode(file["bytes"]).decode(), name=file["name"], mime_type=file["type"]
                    )
                    await updater.add_artifact([Part(root=FilePart(file=content))], artifact_id="file", name="the file")
                    data = Part(root=DataPart(data=script.DATA))
                    await updater.add_artifact([data], artifact_id="data", name="the data")
                is_first = False
        await updater.complete()

    async def begin(self, context, event_queue, updater):
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=TaskStatus(state=TaskState.submitted),
                    history=[context.message],
                )
            )
        await updater.start_work()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(url, binding):
    return AgentCard(
        name="Python 0.3",
        description="Answers by the text",
        version="1.2.3",
        protocol_version="0.3.0",
        url=url + PATHS[binding],
        preferred_transport=binding,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="talk", name="Talk", description="Talks", tags=["talk"])],
    )


if __name__ == "__main__":
    listener, url = stage.listen()
    card = card(url, sys.argv[1])
    handler = DefaultRequestHandler(agent_executor=Actor(), task_store=InMemoryTaskStore())
    app = A2AFastAPIApplication(card, handler).build()
    app.mount(PATHS["HTTP+JSON"], A2ARESTFastAPIApplication(card, handler).build())
    stage.play(app, listener)
