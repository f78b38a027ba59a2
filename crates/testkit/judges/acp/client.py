"""An outside judge of the ACP door: the protocol's own SDK for Python, as an editor, over a process's pipes and a WebSocket.

    python client.py HUB PROGRAM AGENT...

HUB is the hub's URL and PROGRAM is jackfield. Every AGENT echoes messages ("you said ..."). The first one also asks "which
one?" for the message `ask`, asks for approval for the message `approve`, and never answers the message `sleep`.
"""

import asyncio
import sys

import acp
from acp import schema
from acp.ws import create_websocket_stream

LIMIT = 60


class Editor:
    """An editor's side of a connection: shows updates, and allows what it is asked for."""

    def __init__(self):
        self.updates = []
        self.permissions = []

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.permissions.append(tool_call.title)
        [allow] = [option for option in options if option.kind == "allow_once"]
        outcome = schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, connection):
        pass

    def said(self, kind=schema.AgentMessageChunk):
        """The text of all updates of a kind, which are then forgotten."""
        updates, self.updates = self.updates, []
        return "".join(it.content.text for it in updates if isinstance(it, kind))


async def prompt(connection, session, text):
    answer = await connection.prompt(prompt=[acp.text_block(text)], session_id=session)
    return answer.stop_reason


async def open_session(connection, agent):
    hello = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
    assert hello.protocol_version == 1, hello
    assert hello.agent_info.name == agent, hello
    assert hello.agent_capabilities.load_session, hello
    return (await connection.new_session(cwd="/", mcp_servers=[])).session_id


async def echo(connection, editor, session):
    assert await prompt(connection, session, "hello") == "end_turn"
    said = editor.said()
    assert said == "you said hello", said


async def everything(connection, editor, session):
    assert await prompt(connection, session, "ask") == "end_turn"
    said = editor.said()
    assert said == "which one?", said
    assert await prompt(connection, session, "this") == "end_turn"
    said = editor.said()
    assert said == "you said this", said

    assert await prompt(connection, session, "approve") == "end_turn"
    assert editor.permissions == ["rm"], editor.permissions
    said = editor.said()
    assert said == "you said yes", said

    two = {asyncio.create_task(prompt(connection, session, "sleep")) for _ in range(2)}
    [refused], [sleeping] = await asyncio.wait(two, return_when=asyncio.FIRST_COMPLETED)
    assert refused.exception().code == -32600, refused
    await connection.cancel(session_id=session)
    assert await sleeping == "cancelled"

    try:
        await prompt(connection, "nothing", "hello")
        raise AssertionError("an unknown session is served")
    except acp.RequestError as error:
        assert error.code == -32002, error


async def loaded(connection, editor, session):
    editor.said()
    await connection.load_session(cwd="/", session_id=session, mcp_servers=[])
    users = [it for it in editor.updates if isinstance(it, schema.UserMessageChunk)]
    assert users[0].content.text == "hello", users
    await echo_again(connection, editor, session)


async def echo_again(connection, editor, session):
    editor.said()
    await echo(connection, editor, session)


async def over_pipes(program, hub, agent, is_first):
    editor = Editor()
    process = acp.spawn_agent_process(editor, program, "acp", agent, "--hub", hub)
    async with process as (connection, _):
        session = await open_session(connection, agent)
        await echo(connection, editor, session)
        if is_first:
            await everything(connection, editor, session)
    return session


async def over_websocket(hub, agent, session):
    editor = Editor()
    url = hub.replace("http", "ws", 1).rstrip("/") + f"/acp/{agent}"
    connection = acp.connect_to_agent(editor, await create_websocket_stream(url))
    try:
        fresh = await open_session(connection, agent)
        await echo(connection, editor, fresh)
        await loaded(connection, editor, session)
    finally:
        await connection.close()


async def main(hub, program, agents):
    for agent in agents:
        session = await over_pipes(program, hub, agent, agent == agents[0])
        await over_websocket(hub, agent, session)
        print(f"{agent} is an agent of an editor")


asyncio.run(asyncio.wait_for(main(sys.argv[1], sys.argv[2], sys.argv[3:]), LIMIT))
