"""An outside judge of the A2A door: calls agents with the published `a2a-sdk` 1.x, version 1.0 of the protocol.

    python py_v1.py --transports NAME … --agents http://127.0.0.1:7411/a2a/agents/ID … --asking URL …

Each agent is found by its card, whose signature is checked, and called by each transport on the card. One line per
promise; exit code 1 with the difference on failure. The hub must be on loopback and allow push notifications to loopback.
"""

import asyncio
import contextlib
import uuid

import grpc
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.types import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier

from promise import (
    ANSWER,
    COUNT,
    HELLO,
    NOBODY,
    QUESTION,
    Broken,
    Receiver,
    arguments,
    check,
    connections,
    published_key,
    same,
    step,
)

OPEN = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
COMPLETED = TaskState.TASK_STATE_COMPLETED
CANCELED = TaskState.TASK_STATE_CANCELED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED


def request(text, task=None, **configuration):
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        message.task_id = task.id
        message.context_id = task.context_id
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(**configuration))


def words(parts):
    return "".join(part.text for part in parts)


def made(task):
    """The text of all artifacts."""
    return "".join(words(artifact.parts) for artifact in task.artifacts)


def said(task, role):
    """The messages of one side."""
    return [words(message.parts) for message in task.history if message.role == role]


async def fails(awaitable, error, promise):
    try:
        came = await awaitable
    except error:
        return
    except Exception as other:
        raise Broken(f"{promise}\n  got {other!r}") from other
    raise Broken(f"{promise}\n  got no error but {came!r}")


class Agent:
    """An agent with a transport."""

    def __init__(self, card, transport):
        self.card = card
        self.transport = transport

    @contextlib.asynccontextmanager
    async def line(self, streaming=False):
        """A client with its own connections, closed afterwards."""
        async with connections() as http:
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[self.transport],
            )
            client = ClientFactory(config).create(self.card)
            try:
                yield client
            finally:
                await client.close()

    async def send(self, *args, **configuration):
        async with self.line() as client:
            answers = [answer async for answer in client.send_message(request(*args, **configuration))]
        same(len(answers), 1, "a message that is sent has one answer")
        check(answers[0].HasField("task"), "the answer is a task", answers[0])
        return answers[0].task

    async def get(self, task, **more):
        async with self.line() as client:
            return await client.get_task(GetTaskRequest(id=task.id, **more))

    async def cancel(self, task_id):
        async with self.line() as client:
            return await client.cancel_task(CancelTaskRequest(id=task_id))

    async def subscribe(self, task_id):
        async with self.line(streaming=True) as client:
            return [event async for event in client.subscribe(SubscribeToTaskRequest(id=task_id))]


class Followed:
    """The events of a stream about a single task, with their order checked while reading."""

    def __init__(self, event):
        check(event.HasField("task"), "a stream begins with the task", event)
        self.task = event.task
        self.state = event.task.status.state
        self.text = made(event.task)
        self.artifacts = {artifact.artifact_id for artifact in event.task.artifacts}

    def hear(self, event):
        check(self.state in OPEN, "nothing comes after the end", event)
        if event.HasField("status_update"):
            same(event.status_update.task_id, self.task.id, "an update names its task")
            self.state = event.status_update.status.state
            self.message = words(event.status_update.status.message.parts)
        elif event.HasField("artifact_update"):
            update = event.artifact_update
            same(update.task_id, self.task.id, "an update names its task")
            same(
                update.append,
                update.artifact.artifact_id in self.artifacts,
                "only the first piece of an artifact is no appended one",
            )
            self.artifacts.add(update.artifact.artifact_id)
            self.text += words(update.artifact.parts)
        else:
            raise Broken(f"a stream goes on with updates\n  got {event!r}")

    @classmethod
    async def read(cls, stream):
        """Reads the whole stream."""
        followed = None
        async for event in stream:
            if followed is None:
                followed = cls(event)
            else:
                followed.hear(event)
        check(followed is not None, "a stream tells something", None)
        return followed

    @classmethod
    async def first_piece(cls, stream):
        """Reads up to the first piece of the answer."""
        followed = None
        async for event in stream:
            if followed is None:
                followed = cls(event)
            else:
                followed.hear(event)
            if followed.text:
                return followed
        raise Broken("a piece of the answer comes before the end\n  got none")


async def one_shot(agent):
    task = await agent.send("hello")
    same(task.status.state, COMPLETED, "the task is completed")
    same(made(task), HELLO, "the answer is in the artifacts")
    same(said(task, Role.ROLE_USER), ["hello"], "the question is in the history")
    same("".join(said(task, Role.ROLE_AGENT)), HELLO, "the answer is in the history")
    step("one-shot: completed, with the answer in artifacts and history")


async def streamed(agent):
    async with agent.line(streaming=True) as client:
        followed = await Followed.read(client.send_message(request("hello")))
    same(followed.state, COMPLETED, "the stream ends with completed")
    same(followed.text, HELLO, "the pieces make up the answer")
    stored = await agent.get(followed.task)
    same((stored.status.state, made(stored)), (COMPLETED, HELLO), "the task is stored as it was streamed")
    step("streamed: the task, the answer in pieces, completed")


async def cancelled(agent):
    async with agent.line(streaming=True) as client:
        stream = client.send_message(request("work"))
        followed = await Followed.first_piece(stream)
        task = await agent.cancel(followed.task.id)
        same(task.status.state, CANCELED, "a cancelled task is canceled")
        async for event in stream:
            followed.hear(event)
    same(followed.state, CANCELED, "the stream ends with canceled")
    await fails(agent.cancel(task.id), TaskNotCancelableError, "a canceled task cannot be cancelled")
    same((await agent.get(task)).status.state, CANCELED, "it stays canceled")
    task = await agent.send("work", return_immediately=True)
    check(task.status.state in OPEN, "who does not wait gets a task that goes on", task)
    same((await agent.cancel(task.id)).status.state, CANCELED, "it can be cancelled")
    step("cancelled: streamed and not waited for; twice is an error")


async def resubscribed(agent):
    async with agent.line(streaming=True) as client:
        followed = await Followed.first_piece(client.send_message(request("count")))
    task = followed.task
    async with agent.line(streaming=True) as client:
        stream = client.subscribe(SubscribeToTaskRequest(id=task.id))
        again = Followed(await anext(stream))
        same(again.task.id, task.id, "a subscription begins with the same task")
        await agent.send("release")
        async for event in stream:
            again.hear(event)
    same(again.state, COMPLETED, "a dropped connection does not harm the task")
    same(again.text, COUNT, "the task and what follows are the whole answer, once")
    same(made(await agent.get(task)), COUNT, "the whole answer is stored")
    await fails(agent.subscribe(task.id), UnsupportedOperationError, "a task that ended has no stream")
    step("resubscribed: after a dropped connection, nothing lost, nothing doubled")


async def looked_up(agent):
    first = await agent.send("hello")
    second = await agent.send("hello")
    stored = await agent.get(first)
    same(made(stored), HELLO, "get gives the artifacts")
    same(len((await agent.get(first, history_length=1)).history), 1, "get gives as much history as asked for")
    same(len((await agent.get(first, history_length=0)).history), 0, "get gives no history if none is asked for")
    async with agent.line() as client:
        one = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
        same([task.id for task in one.tasks], [first.id], "list gives the tasks of one context")
        same(one.next_page_token, "", "a last page names no further one")
        check(not one.tasks[0].artifacts, "list leaves out artifacts", one)
        page = await client.list_tasks(ListTasksRequest(page_size=1, include_artifacts=True))
        same([task.id for task in page.tasks], [second.id], "list gives the newest first")
        same(made(page.tasks[0]), HELLO, "list gives artifacts if asked for")
        check(page.total_size >= 2, "list tells how many there are", page)
        page = await client.list_tasks(ListTasksRequest(page_size=1, page_token=page.next_page_token))
        same([task.id for task in page.tasks], [first.id], "the next page goes on")
    step("looked up: get and list, with history, pages and contexts")


async def pushed(agent):
    task = await agent.send("hello")
    config = TaskPushNotificationConfig(task_id=task.id, id="mine", url="http://127.0.0.1:9/told", token="t-1")
    async with agent.line() as client:
        created = await client.create_task_push_notification_config(config)
        same((created.id, created.url), (config.id, config.url), "a config is created as it was given")
        wanted = GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
        same((await client.get_task_push_notification_config(wanted)).url, config.url, "a config can be read")
        every = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(every)
        same([config.id for config in listed.configs], ["mine"], "configs are listed")
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="mine")
        await client.delete_task_push_notification_config(gone)
        await fails(client.get_task_push_notification_config(wanted), A2AError, "a deleted config is gone")
    step("push configs: created, read, listed, deleted")
    receiver = Receiver()
    try:
        config = TaskPushNotificationConfig(
            url=receiver.url,
            token="t-2",
            authentication=AuthenticationInfo(scheme="Bearer", credentials="sesame"),
        )
        task = await agent.send("hello", task_push_notification_config=config)
        state = None
        while state != "TASK_STATE_COMPLETED":
            headers, body = await asyncio.to_thread(receiver.next)
            same(headers["Authorization"], "Bearer sesame", "a notification shows the credentials")
            same(headers["X-A2A-Notification-Token"], "t-2", "a notification shows the token")
            check(
                len(body) == 1 and next(iter(body)) in ("task", "statusUpdate", "artifactUpdate"),
                "a notification is an item of a stream",
                body,
            )
            (told,) = body.values()
            same(told.get("taskId", told.get("id")), task.id, "a notification names the task")
            state = told.get("status", {}).get("state")
    finally:
        receiver.close()
    step("pushed: a receiver is told until the end, with token and credentials")


async def extended(agent):
    # A hub on loopback accepts any token.
    token = ClientCallContext(service_parameters={"Authorization": "Bearer any"})
    async with agent.line() as client:
        try:
            card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        except Exception as refusal:
            print(f"   without a token: {type(refusal).__name__}", flush=True)
        else:
            raise Broken(f"the extended card is for those who show a token\n  got {card!r}")
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest(), context=token)
    same(card.name, agent.card.name, "the extended card is of the same agent")
    step("extended card: with a token")


async def asked(agent):
    task = await agent.send("ask")
    same(task.status.state, INPUT_REQUIRED, "a question makes the task input-required")
    same(words(task.status.message.parts), QUESTION, "the question is the message of the status")
    task = await agent.send("blue", task)
    same(task.status.state, COMPLETED, "with the answer the task completes")
    check(made(task).endswith(ANSWER), "the answer has reached the agent", task)
    same(said(task, Role.ROLE_USER), ["ask", "blue"], "the history has both messages")
    async with agent.line(streaming=True) as client:
        followed = await Followed.read(client.send_message(request("ask")))
        same((followed.state, followed.message), (INPUT_REQUIRED, QUESTION), "a stream ends with the question")
        followed = await Followed.read(client.send_message(request("blue", followed.task)))
    same(followed.state, COMPLETED, "the stream of the answer ends with completed")
    check(followed.text.endswith(ANSWER), "it brings the rest", followed.text)
    step("input required: sent and streamed, goes on with the same task")


async def refused(agent):
    async def send(task):
        async with agent.line() as client:
            return [event async for event in client.send_message(request("hello", task))]

    async def stream(task):
        async with agent.line(streaming=True) as client:
            return [event async for event in client.send_message(request("hello", task))]

    ended = await agent.send("hello")
    nobody = type(ended)(id=NOBODY)
    await fails(agent.get(nobody), TaskNotFoundError, "an unknown task is not found")
    await fails(agent.cancel(NOBODY), TaskNotFoundError, "an unknown task cannot be cancelled")
    await fails(agent.subscribe(NOBODY), TaskNotFoundError, "an unknown task has no stream")
    await fails(send(nobody), TaskNotFoundError, "an unknown task cannot go on")
    await fails(stream(nobody), TaskNotFoundError, "an unknown task cannot go on in a stream")
    await fails(send(ended), UnsupportedOperationError, "a task that ended cannot go on")
    step("errors: unknown and ended tasks, by the client's own types")


async def signed(base):
    """Fetches the card, and checks its signature with the hub's published key."""
    verify = create_signature_verifier(published_key, ["ES256"])
    async with connections() as http:
        card = await A2ACardResolver(http, base).get_agent_card(signature_verifier=verify)
    other = type(card)()
    other.CopyFrom(card)
    other.name += "!"
    try:
        verify(other)
    except SignatureVerificationError:
        step("card: found, its signature right, a changed one wrong")
        return card
    raise Broken("a changed card does not fit its signature\n  got no error")


async def judge(options):
    for base in options.agents + options.asking:
        print(base, flush=True)
        card = await signed(base)
        for transport in options.transports:
            print(f" {transport}", flush=True)
            agent = Agent(card, transport)
            for promise in (one_shot, streamed, cancelled, resubscribed, looked_up, pushed, extended, refused):
                await promise(agent)
            if base in options.asking:
                await asked(agent)


if __name__ == "__main__":
    asyncio.run(judge(arguments(["JSONRPC", "HTTP+JSON", "GRPC"])))
