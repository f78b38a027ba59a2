"""An outside judge of the MCP door: the protocol's own client for Python, over HTTP and over a process's pipes.

    python mcp_client.py URL PROGRAM HUB

URL is the hub's /mcp, PROGRAM is jackfield and HUB its --hub. An agent `parrot` must be attached that echoes messages, asks
"which one?" for the message `ask`, and never answers the message `sleep`. Both editions of the client are judges: the
first begins with a handshake, the second skips the handshake if possible.
"""

import asyncio
import contextlib
import functools
import sys
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import ElicitResult

EDITION = int(version("mcp").split(".")[0])
LIMIT = 60


def field(result, new, old):
    """Reads a field; the editions spell fields differently."""
    return getattr(result, new if EDITION > 1 else old)


def told(result):
    """The structured result of a tool; an error has text only."""
    return field(result, "structured_content", "structuredContent")


def is_error(result):
    return field(result, "is_error", "isError")


@contextlib.asynccontextmanager
async def first_edition(server, user=None):
    """A session of the first edition. `user` answers questions."""
    if isinstance(server, str):
        from mcp.client.streamable_http import streamable_http_client

        transport = streamable_http_client(server)
    else:
        transport = stdio_client(server)
    async with transport as (read, write, *_), ClientSession(read, write, elicitation_callback=user) as session:
        hello = await session.initialize()
        assert hello.serverInfo.name == "jackfield", hello
        assert "find_agents" in hello.instructions, hello
        yield session


@contextlib.asynccontextmanager
async def second_edition(server, mode, user=None):
    """A client of the second edition, with or without a handshake. `user` answers questions."""
    from mcp import Client

    async with Client(server, mode=mode, elicitation_callback=user) as client:
        assert client.server_info.name == "jackfield", client.server_info
        print(f"speaks {client.protocol_version}")
        yield client


async def play(session):
    """The life cycle of a model's client. The client itself checks every result against the tool's schema."""
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == ["find_agents", "call_agent", "task", "cancel"]

    found = told(await session.call_tool("find_agents", {"query": "parrot"}))
    assert found["agents"][0]["id"] == "parrot" and found["total"] == 1, found

    heard = []

    async def progress(number, total, message):
        heard.append((number, message))

    said = await session.call_tool(
        "call_agent", {"agent": "parrot", "message": "hello"}, progress_callback=progress
    )
    answer = told(said)
    assert answer["state"] == "completed" and answer["text"] == "you said hello", answer
    assert said.content[0].text == "you said hello", said
    numbers = [number for number, _ in heard]
    assert numbers == sorted(set(numbers)) and len(heard) >= 2, heard
    assert "".join(message for _, message in heard[1:]) == "you said hello", heard

    again = {"agent": "parrot", "message": "more", "session": answer["session"]}
    assert told(await session.call_tool("call_agent", again))["session"] == answer["session"]

    asked = told(await session.call_tool("call_agent", {"agent": "parrot", "message": "ask"}))
    assert asked["state"] == "input_required", asked
    assert asked["ask"]["text"] == "which one?", asked
    reply = {"task": asked["task"], "answer": "the blue one"}
    answered = told(await session.call_tool("task", reply))
    assert answered["text"] == "you said the blue one", answered

    begun = {"agent": "parrot", "message": "sleep", "wait_seconds": 0}
    working = told(await session.call_tool("call_agent", begun))
    assert working["state"] == "working", working
    ended = told(await session.call_tool("cancel", {"task": working["task"]}))
    assert ended["state"] == "cancelled", ended

    unknown = await session.call_tool("call_agent", {"agent": "parot", "message": "hello"})
    assert is_error(unknown) and '"parrot"' in unknown.content[0].text, unknown
    try:
        wrong = await session.call_tool("no_such_tool", {})
        raise AssertionError(wrong)
    except Exception as error:  # noqa: BLE001 - each edition has its own class
        assert "no_such_tool" in str(error), error


class User:
    """A user who answers questions of agents, whichever way the version of the protocol has for asking."""

    def __init__(self, action, content=None):
        self.action = action
        self.content = content
        self.asked = []

    async def __call__(self, context, params):
        self.asked.append(params.message)
        return ElicitResult(action=self.action, content=self.content)


async def answer_questions(open_session):
    """The user is asked and not the model: one who answers, and one who does not want to."""
    for user, words in (
        (User("accept", {"answer": "the blue one"}), "you said the blue one"),
        (User("decline"), "you said The user declined to answer."),
    ):
        async with asyncio.timeout(LIMIT), open_session(user) as session:
            said = told(await session.call_tool("call_agent", {"agent": "parrot", "message": "ask"}))
            assert said["state"] == "completed", said
            assert said["text"] == words, said
            assert user.asked == ["The agent parrot asks: which one?"], user.asked


async def main(url, program, hub):
    server = StdioServerParameters(command=program, args=["mcp"], env={"JACKFIELD_HUB": hub})
    for way, where in {"HTTP": url, "a process": server}.items():
        if EDITION > 1:
            sessions = {mode: functools.partial(second_edition, where, mode) for mode in ("auto", "legacy")}
        else:
            sessions = {"handshake": functools.partial(first_edition, where)}
        for mode, session in sessions.items():
            async with asyncio.timeout(LIMIT), session() as opened:
                await play(opened)
            await answer_questions(session)
            print(f"mcp {version('mcp')} over {way} ({mode}): content")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
