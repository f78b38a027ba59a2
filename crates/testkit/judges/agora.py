"""An outside judge of the Agora door: runs through the whole specification with the `websockets` package.

    python agora.py ws://127.0.0.1:7411/ws

Exit code 0 if everything was as specified, 1 with the difference otherwise.
"""

import asyncio
import json
import sys
from datetime import datetime

from websockets.asyncio.client import connect

QUERY = {"action": "query", "body": {"question": "..."}}


class Agent:
    def __init__(self, ws):
        self.ws = ws

    async def send(self, **frame):
        await self.ws.send(json.dumps(frame))

    async def frame(self):
        text = await asyncio.wait_for(self.ws.recv(), 20)
        assert isinstance(text, str), "a binary frame came"
        return json.loads(text)

    async def expect(self, **frame):
        came = await self.frame()
        assert came == frame, f"expected {frame}\n     got {came}"

    async def register(self, agent_id):
        await self.send(type="register", id=agent_id, name=agent_id.title())
        await self.expect(type="registered", id=agent_id)


def step(name):
    print(f"  {name}", flush=True)


async def relay(one, two, up, down, stream_id):
    """A stream from `one` to `two`, with the frame types of a message or a reply."""
    await one.send(type=up, to="py-2", stream_id=stream_id, stream=True, payload=QUERY)
    await two.expect(
        type=down, **{"from": "py-1"}, stream_id=stream_id, stream=True, payload=QUERY
    )
    for chunk in ["This is", " a segment", "\u00e9\U0001f600\n\"quoted\""]:
        await one.send(type=f"{up}_chunk", to="py-2", stream_id=stream_id, chunk=chunk)
        await two.expect(
            type=f"{down}_chunk", **{"from": "py-1"}, stream_id=stream_id, chunk=chunk
        )
    await one.send(type=f"{up}_end", to="py-2", stream_id=stream_id)
    await two.expect(type=f"{down}_end", **{"from": "py-1"}, stream_id=stream_id)


async def play(url):
    async with connect(url) as ws_1, connect(url) as ws_2:
        one, two = Agent(ws_1), Agent(ws_2)
        step("register")
        await one.register("py-1")
        await two.register("py-2")

        step("list")
        await one.send(type="list")
        agents = await one.frame()
        assert agents["type"] == "agents", agents
        by_id = {agent["id"]: agent for agent in agents["agents"]}
        assert {"py-1", "py-2"} <= by_id.keys(), agents
        assert by_id["py-2"]["name"] == "Py-2", agents
        datetime.fromisoformat(by_id["py-2"]["registered_at"][:19])

        step("one-shot message and reply")
        payload = {**QUERY, "request_id": "r-1"}
        await one.send(type="send", to="py-2", payload=payload)
        await two.expect(type="message", **{"from": "py-1"}, payload=payload)
        answer = {"request_id": "r-1", "answer": 42}
        await two.send(type="reply", to="py-1", payload=answer)
        await one.expect(type="reply", **{"from": "py-2"}, payload=answer)

        step("streamed message and streamed reply")
        await relay(one, two, "send", "message", "stream-1")
        await relay(one, two, "reply", "reply", "stream-1")
        await relay(one, two, "reply", "reply", "stream-2")

        step("mistakes")
        await one.ws.send("not JSON")
        assert (await one.frame())["code"] == "invalid"
        await one.send(type="send", to="nobody", payload=QUERY)
        error = await one.frame()
        assert (error["code"], error["to"]) == ("not_found", "nobody"), error

        step("disconnect")
        await one.send(type="send", to="py-2", stream_id="open", stream=True)
        await two.frame()
        await ws_1.close()
        error = await two.frame()
        got = error["type"], error["code"], error["from"], error["stream_id"]
        assert got == ("error", "offline", "py-1", "open"), error


async def main():
    await asyncio.wait_for(play(sys.argv[1]), 60)


try:
    asyncio.run(main())
except Exception as problem:  # any failure is shown to the test
    print(f"FAILED: {type(problem).__name__}: {problem}")
    sys.exit(1)
print("ok")
