"""An outside judge of the bridge door: runs the life cycle of the published client with the `websockets` package.

    JACKFIELD_PLATFORM_SECRET=... python bridge.py 127.0.0.1:7411

The frames were recorded from the published client, versions 1 and 2: with compression, pings beside heartbeats, and empty
texts. The platform is Python's own HTTP client. The hub must be bound to loopback. Exit code 0 if everything was as
expected, 1 with the difference otherwise.
"""

import asyncio
import http.client
import json
import os
import sys
import uuid

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

HUB = sys.argv[1]
SECRET = os.environ["JACKFIELD_PLATFORM_SECRET"]
SOON = 20


def step(name):
    print(f"  {name}", flush=True)


def same(came, expected):
    assert came == expected, f"expected {expected}\n     got {came}"


class Platform:
    """Requests of the platform, each on its own connection."""

    @staticmethod
    def request(method, path, body=None, secret=True):
        connection = http.client.HTTPConnection(HUB, timeout=SOON)
        headers = {"Content-Type": "application/json"}
        if secret:
            headers["X-Platform-Secret"] = SECRET
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, headers)
        return connection, connection.getresponse()

    @classmethod
    def answer(cls, method, path, body=None, secret=True):
        connection, response = cls.request(method, path, body, secret)
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None

    @classmethod
    async def ask(cls, *args, **kwargs):
        return await asyncio.to_thread(cls.answer, *args, **kwargs)


class Stream:
    """The events of a relay."""

    @classmethod
    async def relay(cls, agent, request_id):
        body = {
            "agent_id": agent,
            "session_id": "s-1",
            "request_id": request_id,
            "content": "2 + 2?",
        }
        self = cls()
        self.connection, self.response = await asyncio.to_thread(
            Platform.request, "POST", "/api/relay", body
        )
        same(self.response.status, 200)
        same(self.response.headers["Content-Type"], "text/event-stream")
        return self

    def read(self):
        line = self.response.readline().decode()
        if not line:
            return None
        assert line.startswith("data: "), f"not a data line: {line!r}"
        same(self.response.readline(), b"\n")
        return json.loads(line.removeprefix("data: "))

    async def next(self):
        return await asyncio.to_thread(self.read)

    async def expect(self, **event):
        same(await self.next(), event)

    async def ends(self):
        same(await self.next(), None)
        self.connection.close()


class Agent:
    """A connection of the client."""

    def __init__(self, ws):
        self.ws = ws

    @classmethod
    async def connected(cls, agent_id):
        return cls(await connect(f"ws://{HUB}/ws?agent_id={agent_id}"))

    @classmethod
    async def registered(cls, agent_id, version, **fields):
        self = await cls.connected(agent_id)
        await self.register(agent_id, version, **fields)
        await self.expect(type="registered", status="ok")
        return self

    async def register(self, agent_id, version, /, **fields):
        frame = {
            "type": "register",
            "agent_id": agent_id,
            "token": "ah_0123456789abcdef",
            "bridge_version": version,
            "agent_type": "claude",
            "capabilities": [],
        }
        await self.send(**{**frame, **fields})

    async def send(self, **frame):
        await self.ws.send(json.dumps(frame))

    async def frame(self):
        text = await asyncio.wait_for(self.ws.recv(), SOON)
        assert isinstance(text, str), "a binary frame came"
        return json.loads(text)

    async def expect(self, **frame):
        same(await self.frame(), frame)

    async def message(self, request_id):
        await self.expect(
            type="message",
            session_id="s-1",
            request_id=request_id,
            content="2 + 2?",
            attachments=[],
        )

    async def heartbeat(self, sessions):
        await self.send(type="heartbeat", active_sessions=sessions, uptime_ms=20_000)
        await asyncio.wait_for(await self.ws.ping(), SOON)

    async def closed(self):
        try:
            while True:
                await asyncio.wait_for(self.ws.recv(), SOON)
        except ConnectionClosed:
            return self.ws.close_code


CHUNKS = [
    (
        {"delta": "hm", "kind": "thinking", "tool_name": "", "tool_call_id": ""},
        {"delta": "hm", "kind": "thinking"},
    ),
    (
        {"delta": "", "kind": "tool_start", "tool_name": "Bash", "tool_call_id": "t"},
        {"delta": "", "kind": "tool_start", "tool_name": "Bash", "tool_call_id": "t"},
    ),
    (
        {"delta": "{}", "kind": "tool_input", "tool_name": "Bash", "tool_call_id": "t"},
        {"delta": "{}", "kind": "tool_input", "tool_name": "Bash", "tool_call_id": "t"},
    ),
    (
        {"delta": "4\n", "kind": "tool_result", "tool_name": "", "tool_call_id": "t"},
        {"delta": "4\n", "kind": "tool_result", "tool_call_id": "t"},
    ),
    (
        {"delta": "Writing\u2026", "kind": "status"},
        {"delta": "Writing\u2026", "kind": "status"},
    ),
    ({"delta": "\u00e9\U0001f600 4"}, {"delta": "\u00e9\U0001f600 4"}),
]
ATTACHMENTS = [{"name": "a.png", "url": "https://files.example/a", "type": "image/png"}]
OFFER = {"transfer_id": "t-1", "zip_size": 9, "zip_sha256": "00", "file_count": 1}
# The last frame of an answer in each client version, and the platform's event for it.
ENDS = {
    "1": (
        {"attachments": ATTACHMENTS, "file_manifest": [{"path": "a.png", "size": 9}]},
        {"attachments": ATTACHMENTS},
    ),
    "2": ({"file_transfer_offer": OFFER}, {"file_transfer_offer": OFFER}),
}


async def answers(agent_id, agent, version):
    stream = await Stream.relay(agent_id, "r-1")
    await agent.message("r-1")
    ids = {"session_id": "s-1", "request_id": "r-1"}
    for sent, heard in CHUNKS:
        await agent.send(type="chunk", **ids, **sent)
        await stream.expect(type="chunk", **heard)
    await agent.heartbeat(1)
    await stream.expect(type="keepalive")
    sent, heard = ENDS[version]
    await agent.send(type="done", **ids, result="4", **sent)
    await stream.expect(type="done", **heard)
    await stream.ends()


async def fails_and_is_cancelled(agent_id, agent):
    stream = await Stream.relay(agent_id, "r-2")
    await agent.message("r-2")
    ids = {"session_id": "s-1", "request_id": "r-2"}
    await agent.send(type="error", **ids, code="adapter_crash", message="it died")
    await stream.expect(type="error", code="adapter_crash", message="it died")
    await stream.ends()

    stream = await Stream.relay(agent_id, "r-3")
    await agent.message("r-3")
    ids = {"session_id": "s-1", "request_id": "r-3"}
    body = {"agent_id": agent_id, **ids}
    same(await Platform.ask("POST", "/api/cancel", body), (200, {"success": True, **ids}))
    await agent.expect(type="cancel", **ids)
    text = "Request cancelled"
    await stream.expect(type="error", code="session_not_found", message=text)
    await stream.ends()


async def finds_calls_and_signals(one_id, one, version):
    two_id = str(uuid.uuid4())
    two = await Agent.registered(two_id, version, capabilities=[two_id])
    await one.send(type="discover_agents", capability=two_id, limit=5)
    entry = {
        "id": two_id,
        "name": two_id,
        "agent_type": "claude",
        "capabilities": [two_id],
        "is_online": True,
    }
    await one.expect(type="discover_agents_result", agents=[entry])

    call = {"type": "call_agent", "target_agent_id": two_id, "call_id": "c-1"}
    await one.send(**call, task_description="Translate")
    came = await two.frame()
    got = came["type"], came["session_id"], came["request_id"], came["content"]
    same(got, ("message", "a2a-c-1", "c-1", "Translate"))
    ids = {"session_id": "a2a-c-1", "request_id": "c-1"}
    await two.send(type="chunk", **ids, delta="Bonjour")
    await one.expect(type="call_agent_chunk", call_id="c-1", delta="Bonjour")
    await two.send(type="done", **ids, result="Bonjour")
    await one.expect(type="call_agent_done", call_id="c-1")
    await one.send(**{**call, "target_agent_id": str(uuid.uuid4())}, task_description="x")
    error = await one.frame()
    same((error["type"], error["code"]), ("call_agent_error", "agent_offline"))

    offer = {"transfer_id": "t-1", "zip_size": 9, "zip_sha256": "0" * 64, "file_count": 1}
    signal = {"transfer_id": "t-1", "signal_type": "prepare-upload", "payload": json.dumps(offer)}
    await one.send(type="rtc_signal", target_agent_id=two_id, **signal)
    client = {"client_id": f"agent.{one_id}"}
    await two.expect(type="rtc_signal_relay", from_agent_id=one_id, **client, **signal)
    signal = {"transfer_id": "t-1", "signal_type": "offer", "payload": "v=0"}
    await one.send(type="rtc_signal", target_agent_id=two_id, **signal)
    await two.expect(type="rtc_signal_relay", from_agent_id=one_id, **signal)
    await one.send(type="rtc_signal", target_agent_id="http-caller", **signal)
    await one.heartbeat(0)
    path = f"/api/rtc-signal/{one_id}"
    waiting = [{"signal_type": "offer", "payload": "v=0"}]
    poll = {"transfer_id": "t-1", "signal_type": "poll"}
    same(await Platform.ask("POST", path, poll), (200, {"ok": True, "signals": waiting}))
    servers = [{"urls": ["turn:192.0.2.1"], "username": "u", "credential": "c"}]
    answer = {"transfer_id": "t-1", "signal_type": "answer", "payload": "v=1", "ice_servers": servers}
    same(await Platform.ask("POST", path, answer), (200, {"ok": True, "signals": []}))
    await one.expect(type="rtc_signal_relay", from_agent_id="http-caller", **answer)
    await two.ws.close()


async def is_cut_and_comes_back(agent_id, agent, version):
    stream = await Stream.relay(agent_id, "r-4")
    await agent.message("r-4")
    agent.ws.transport.abort()
    text = "Agent disconnected"
    await stream.expect(type="error", code="agent_offline", message=text)
    await stream.ends()
    agent = await Agent.registered(agent_id, version)
    stream = await Stream.relay(agent_id, "r-4")
    await agent.message("r-4")
    await agent.send(type="done", session_id="s-1", request_id="r-4")
    await stream.expect(type="done")
    await stream.ends()
    return agent


async def is_closed(agent_id, agent, version):
    newer = await Agent.registered(agent_id, version)
    same(await agent.closed(), 4001)
    body = {"agent_id": agent_id}
    gone = {"success": True, "was_online": True}
    same(await Platform.ask("POST", "/api/disconnect", body), (200, gone))
    same(await newer.closed(), 4002)

    token = {"name": "t", "owner": "ann", "scopes": ["agent:*"]}
    status, made = await Platform.ask("POST", "/v1/tokens", token, secret=False)
    assert status in (200, 201), made
    hers_id = str(uuid.uuid4())
    hers = await Agent.registered(hers_id, version, token=made["token"])
    path = f"/v1/tokens/{made['id']}"
    status, _ = await Platform.ask("DELETE", path, secret=False)
    assert status in (200, 204), status
    same(await hers.closed(), 4002)

    dead = {"token": made["token"]}
    for fields, text in [
        ({"bridge_version": "3"}, "Unsupported protocol version 3, expected 2"),
        ({"type": "heartbeat"}, "First message must be register"),
        ({"agent_id": hers_id}, "agent_id differs from the one in the URL"),
        (dead, "Authentication failed"),
    ]:
        refused = await Agent.connected(agent_id)
        await refused.register(agent_id, version, **fields)
        await refused.expect(type="registered", status="error", error=text)
        same(await refused.closed(), 1008)


async def live(version):
    agent_id = str(uuid.uuid4())
    step(f"version {version}: register")
    agent = await Agent.registered(agent_id, version)
    await agent.heartbeat(0)
    step("an answer with six kinds of chunks")
    await answers(agent_id, agent, version)
    step("an error, a cancel")
    await fails_and_is_cancelled(agent_id, agent)
    step("discover, call_agent, rtc_signal")
    await finds_calls_and_signals(agent_id, agent, version)
    step("a cut and a reconnect")
    agent = await is_cut_and_comes_back(agent_id, agent, version)
    step("4001, 4002, 1008")
    await is_closed(agent_id, agent, version)


async def main():
    for version in ["1", "2"]:
        await asyncio.wait_for(live(version), 60)


try:
    asyncio.run(main())
except Exception as problem:  # any failure is shown to the test
    print(f"FAILED: {type(problem).__name__}: {problem}")
    sys.exit(1)
print("ok")
