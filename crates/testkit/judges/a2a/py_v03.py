"""An outside judge of the A2A door: calls agents with the published `a2a-sdk` 0.3, version 0.3 of the protocol.

    python py_v03.py --transports NAME … --agents http://127.0.0.1:7411/a2a/agents/ID … --asking URL …

Cards name gRPC of 0.3 only for the hub's default agent. For the transport GRPC, the judge calls each agent at the hub's
port with the metadata `tenant`, as the documentation says.

Each agent is found by its card, whose signature is checked, and called by each transport on the card. One line per
promise; exit code 1 with the difference on failure. The hub must be on loopback and allow push notifications to loopback.
"""

import asyncio
import base64
import contextlib
import uuid
from urllib.parse import urlsplit

import grpc
from a2a.client import A2ACardResolver, A2AClientHTTPError, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import (
    AgentInterface,
    FilePart,
    FileWithBytes,
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)
from a2a.utils.signing import SignatureVerificationError, create_signature_verifier

from promise import (
    ANSWER,
    COUNT,
    FILES,
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

OPEN = (TaskState.submitted, TaskState.working)
# The JSON-RPC code, and the equivalent REST status and gRPC code: this version defines none.
NOT_FOUND = (-32001, [404], grpc.StatusCode.NOT_FOUND)
NOT_CANCELABLE = (-32002, [400, 409], grpc.StatusCode.FAILED_PRECONDITION)


def message(text, task=None, file=None):
    parts = [TextPart(text=text)]
    if file is not None:
        file = base64.b64encode(file).decode()
        parts.append(FilePart(file=FileWithBytes(bytes=file, mime_type="a/b", name="f")))
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        parts=[Part(root=part) for part in parts],
        task_id=task and task.id,
        context_id=task and task.context_id,
    )


def words(parts):
    return "".join(part.root.text for part in parts)


def made(task):
    """The text of all artifacts."""
    return "".join(words(artifact.parts) for artifact in task.artifacts or [])


def said(task, role):
    """The messages of one side."""
    return [words(message.parts) for message in task.history or [] if message.role == role]


async def fails(awaitable, error, promise):
    try:
        came = await awaitable
    except A2AClientJSONRPCError as refusal:
        return same(refusal.error.code, error[0], promise)
    except A2AClientHTTPError as refusal:
        return check(refusal.status_code in error[1], promise, refusal)
    except grpc.aio.AioRpcError as refusal:
        return same(refusal.code(), error[2], promise)
    raise Broken(f"{promise}\n  got no error but {came!r}")


def named(details, agent):
    """Adds the agent to the metadata of a request."""
    metadata = grpc.aio.Metadata(*(details.metadata or ()), ("tenant", agent))
    return details._replace(metadata=metadata)


class NamedUnary(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, agent):
        self.agent = agent

    async def intercept_unary_unary(self, continuation, details, request):
        return await continuation(named(details, self.agent), request)


class NamedStream(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, agent):
        self.agent = agent

    async def intercept_unary_stream(self, continuation, details, request):
        return await continuation(named(details, self.agent), request)


def channels(agent, opened):
    """A factory of channels that name the agent. The channels are added to a list, to be closed."""

    def factory(target):
        # A channel takes one interceptor for one kind of requests only.
        interceptors = [NamedUnary(agent), NamedStream(agent)]
        channel = grpc.aio.insecure_channel(target, interceptors=interceptors)
        opened.append(channel)
        return channel

    return factory


class Agent:
    """An agent with a transport."""

    def __init__(self, card, transport):
        self.agent = card.url.rstrip("/").rsplit("/", 1)[-1]
        if transport == "GRPC":
            target = urlsplit(card.url).netloc
            interface = AgentInterface(transport="GRPC", url=target)
            interfaces = [*(card.additional_interfaces or []), interface]
            card = card.model_copy(update={"additional_interfaces": interfaces})
        self.card = card
        self.transport = transport

    @contextlib.asynccontextmanager
    async def line(self, **config):
        """A client with its own connections, closed afterwards."""
        opened = []
        async with connections() as http:
            config = ClientConfig(
                httpx_client=http,
                grpc_channel_factory=channels(self.agent, opened),
                supported_transports=[self.transport],
                **config,
            )
            try:
                yield ClientFactory(config).create(self.card)
            finally:
                for channel in opened:
                    await channel.close()

    async def send(self, text, task=None, file=None, **config):
        async with self.line(streaming=False, **config) as client:
            answers = [answer async for answer in client.send_message(message(text, task, file))]
        same(len(answers), 1, "a message that is sent has one answer")
        check(isinstance(answers[0], tuple), "the answer is a task", answers[0])
        return answers[0][0]

    async def get(self, task_id, **more):
        async with self.line() as client:
            return await client.get_task(TaskQueryParams(id=task_id, **more))

    async def cancel(self, task_id):
        async with self.line() as client:
            return await client.cancel_task(TaskIdParams(id=task_id))


class Followed:
    """The events of a stream about a single task, with their order checked while reading."""

    def __init__(self, event):
        check(isinstance(event, tuple) and event[1] is None, "a stream begins with the task", event)
        self.task = event[0]
        self.state = self.task.status.state
        self.text = made(self.task)
        self.artifacts = {artifact.artifact_id for artifact in self.task.artifacts or []}
        self.is_final = False

    def hear(self, event):
        _, update = event
        check(update is not None, "a stream goes on with updates", event)
        check(not self.is_final, "nothing comes after the end", update)
        same(update.task_id, self.task.id, "an update names its task")
        if isinstance(update, TaskArtifactUpdateEvent):
            same(
                bool(update.append),
                update.artifact.artifact_id in self.artifacts,
                "only the first piece of an artifact is no appended one",
            )
            self.artifacts.add(update.artifact.artifact_id)
            self.text += words(update.artifact.parts)
        else:
            self.state = update.status.state
            self.message = update.status.message and words(update.status.message.parts)
            self.is_final = update.final
            same(update.final, self.state not in OPEN, "what says that it is final is the end")

    @classmethod
    async def read(cls, stream):
        """Reads the whole stream."""
        followed = None
        async for event in stream:
            if followed is None:
                followed = cls(event)
            else:
                followed.hear(event)
        check(followed is not None and followed.is_final, "a stream ends with what says that it is final", followed)
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
    same(task.status.state, TaskState.completed, "the task is completed")
    same(made(task), HELLO, "the answer is in the artifacts")
    same(said(task, Role.user), ["hello"], "the question is in the history")
    same("".join(said(task, Role.agent)), HELLO, "the answer is in the history")
    step("one-shot: completed, with the answer in artifacts and history")


async def streamed(agent):
    async with agent.line() as client:
        followed = await Followed.read(client.send_message(message("hello")))
    same(followed.state, TaskState.completed, "the stream ends with completed")
    same(followed.text, HELLO, "the pieces make up the answer")
    stored = await agent.get(followed.task.id)
    same((stored.status.state, made(stored)), (TaskState.completed, HELLO), "the task is stored as it was streamed")
    step("streamed: the task, the answer in pieces, completed")


async def cancelled(agent):
    async with agent.line() as client:
        stream = client.send_message(message("work"))
        followed = await Followed.first_piece(stream)
        task = await agent.cancel(followed.task.id)
        same(task.status.state, TaskState.canceled, "a cancelled task is canceled")
        async for event in stream:
            followed.hear(event)
    same(followed.state, TaskState.canceled, "the stream ends with canceled")
    await fails(agent.cancel(task.id), NOT_CANCELABLE, "a canceled task cannot be cancelled")
    same((await agent.get(task.id)).status.state, TaskState.canceled, "it stays canceled")
    task = await agent.send("work", polling=True)
    check(task.status.state in OPEN, "who does not wait gets a task that goes on", task)
    same((await agent.cancel(task.id)).status.state, TaskState.canceled, "it can be cancelled")
    step("cancelled: streamed and not waited for; twice is an error")


async def resubscribed(agent):
    async with agent.line() as client:
        followed = await Followed.first_piece(client.send_message(message("count")))
    task = followed.task
    async with agent.line() as client:
        stream = client.resubscribe(TaskIdParams(id=task.id))
        again = Followed(await anext(stream))
        same(again.task.id, task.id, "a subscription begins with the same task")
        await agent.send("release")
        async for event in stream:
            again.hear(event)
    same(again.state, TaskState.completed, "a dropped connection does not harm the task")
    same(again.text, COUNT, "the task and what follows are the whole answer, once")
    same(made(await agent.get(task.id)), COUNT, "the whole answer is stored")
    step("resubscribed: after a dropped connection, nothing lost, nothing doubled")


async def looked_up(agent):
    task = await agent.send("hello")
    same(made(await agent.get(task.id)), HELLO, "get gives the artifacts")
    short = await agent.get(task.id, history_length=1)
    same(len(short.history or []), 1, "get gives as much history as asked for")
    step("looked up: get, with history")


async def pushed(agent):
    task = await agent.send("hello")
    config = TaskPushNotificationConfig(
        task_id=task.id,
        push_notification_config=PushNotificationConfig(id="mine", url="http://127.0.0.1:9/told", token="t-1"),
    )
    async with agent.line() as client:
        created = await client.set_task_callback(config)
        same(created.push_notification_config.url, "http://127.0.0.1:9/told", "a config is set as it was given")
        wanted = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="mine")
        read = await client.get_task_callback(wanted)
        same(
            (read.task_id, read.push_notification_config.id, read.push_notification_config.token),
            (task.id, "mine", "t-1"),
            "a config can be read",
        )
    step("push configs: set and read")
    receiver = Receiver()
    try:
        config = PushNotificationConfig(
            url=receiver.url,
            token="t-2",
            authentication=PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="sesame"),
        )
        task = await agent.send("hello", push_notification_configs=[config])
        state = None
        while state != TaskState.completed:
            headers, body = await asyncio.to_thread(receiver.next)
            same(headers["Authorization"], "Bearer sesame", "a notification shows the credentials")
            same(headers["X-A2A-Notification-Token"], "t-2", "a notification shows the token")
            told = Task.model_validate(body)
            same(told.id, task.id, "a notification is the task")
            state = told.status.state
    finally:
        receiver.close()
    step("pushed: a receiver is told until the end, with token and credentials")


async def extended(agent):
    # A hub on loopback accepts any token.
    token = ClientCallContext(state={"http_kwargs": {"headers": {"Authorization": "Bearer any"}}})
    if agent.transport == "GRPC":
        # The client has no way to show a token by gRPC.
        async with agent.line() as client:
            refusal = (None, [], grpc.StatusCode.UNAUTHENTICATED)
            await fails(client.get_card(), refusal, "the extended card is for those who show a token")
        return step("extended card: refused without a token")
    async with agent.line() as client:
        try:
            card = await client.get_card()
            raise Broken(f"the extended card is for those who show a token\n  got {card!r}")
        except A2AClientHTTPError as refusal:
            same(refusal.status_code, 401, "the extended card is for those who show a token")
        card = await client.get_card(context=token)
    same(card.name, agent.card.name, "the extended card is of the same agent")
    step("extended card: with a token")


async def asked(agent):
    task = await agent.send("ask")
    same(task.status.state, TaskState.input_required, "a question makes the task input-required")
    same(words(task.status.message.parts), QUESTION, "the question is the message of the status")
    task = await agent.send("blue", task)
    same(task.status.state, TaskState.completed, "with the answer the task completes")
    check(made(task).endswith(ANSWER), "the answer has reached the agent", task)
    same(said(task, Role.user), ["ask", "blue"], "the history has both messages")
    async with agent.line() as client:
        followed = await Followed.read(client.send_message(message("ask")))
        same(
            (followed.state, followed.message),
            (TaskState.input_required, QUESTION),
            "a stream ends with the question",
        )
        followed = await Followed.read(client.send_message(message("blue", followed.task)))
    same(followed.state, TaskState.completed, "the stream of the answer ends with completed")
    check(followed.text.endswith(ANSWER), "it brings the rest", followed.text)
    step("input required: sent and streamed, goes on with the same task")


async def filed(agent):
    for held in FILES:
        task = await agent.send("file", file=held)
        parts = [part.root for artifact in task.artifacts for part in artifact.parts]
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        same(text, held.hex(), "the agent gets the bytes of a file")
        files = [base64.b64decode(part.file.bytes) for part in parts if isinstance(part, FilePart)]
        same(files, [held[::-1]], "the caller gets the bytes of a file")
        asked = task.history[0].parts[1].root.file.bytes
        same(base64.b64decode(asked), held, "the history has the bytes of a file")
    step("files: their bytes reach the agent, and the caller")


async def refused(agent):
    async def resubscribe():
        async with agent.line() as client:
            return [event async for event in client.resubscribe(TaskIdParams(id=NOBODY))]

    async def stream(task):
        async with agent.line() as client:
            return [event async for event in client.send_message(message("hello", task))]

    nobody = await agent.send("hello")
    nobody.id = NOBODY
    await fails(agent.get(NOBODY), NOT_FOUND, "an unknown task is not found")
    await fails(agent.cancel(NOBODY), NOT_FOUND, "an unknown task cannot be cancelled")
    await fails(agent.send("hello", nobody), NOT_FOUND, "an unknown task cannot go on")
    await fails(stream(nobody), NOT_FOUND, "an unknown task cannot go on in a stream")
    if agent.transport != "HTTP+JSON":
        # With REST the client ignores the status of this response.
        await fails(resubscribe(), NOT_FOUND, "an unknown task has no stream")
    step("errors: unknown tasks, by the client's own types")


async def signed(base):
    """Fetches the card, and checks its signature with the hub's published key."""
    verify = create_signature_verifier(published_key, ["ES256"])
    async with connections() as http:
        card = await A2ACardResolver(http, base).get_agent_card(signature_verifier=verify)
    try:
        verify(card.model_copy(update={"name": card.name + "!"}))
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
            if base in options.filing:
                await filed(agent)


if __name__ == "__main__":
    asyncio.run(judge(arguments(["JSONRPC", "HTTP+JSON", "GRPC"])))
