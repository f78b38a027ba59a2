"""Bridge agents for the judge. They reconnect after every disconnect."""

import asyncio
import json
import threading

import requests
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

PAUSE = 0.1


# A file as bytes: the hub turns it into a link.
FILE = {"name": "hello.txt", "url": "data:text/plain,hello", "type": "text/plain"}


# The offered archive; its announced hash may differ.
ARCHIVE = b"hello"


def offer(transfer):
    """Names a transfer."""
    size = {"zip_size": len(ARCHIVE), "zip_sha256": "ab" * 32, "file_count": 1}
    return {"transfer_id": transfer} | size


async def echo(send, message):
    """Echoes the message; a request for files gets an offer with the message as its name."""
    await send(type="chunk", delta=message["content"])
    more = {"file_transfer_offer": offer(message["content"])} if message.get("with_files") else {}
    await send(type="done", result=message["content"], attachments=[FILE], **more)


async def ask(send, message):
    """Asks on request; otherwise ends its turn and waits for input."""
    if message["content"] == "ask":
        await send(type="ask", ask_id="q", kind="input", text="which one?")
    else:
        await send(type="done", result="and then?", state="input_required")


async def sleep(send, message):
    """Never answers."""


AGENTS = {
    "echo": echo,
    "asker": ask,
    "sleeper": sleep,
    # For disruptive operations: this agent is changed, disconnected and deleted.
    "doomed": echo,
    # Passes its tickets to the test case instead of using them.
    "keeper": echo,
}


class Agents:
    """The agents, attached within the block."""

    def __init__(self, url):
        self.http = url
        self.url = url.replace("http", "ws", 1)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.lives = []

    def __enter__(self):
        self.thread.start()
        for agent_id, answer in AGENTS.items():
            life = asyncio.run_coroutine_threadsafe(self.live(agent_id, answer), self.loop)
            self.lives.append(life)

    def __exit__(self, *_):
        for life in self.lives:
            life.cancel()
        asyncio.run_coroutine_threadsafe(self.over(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def over(self):
        """Waits until all agents have disconnected."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def live(self, agent_id, answer):
        while True:
            try:
                async with connect(f"{self.url}/ws?agent_id={agent_id}") as ws:
                    await self.serve(ws, agent_id, answer)
            except (OSError, WebSocketException):
                pass
            await asyncio.sleep(PAUSE)

    async def serve(self, ws, agent_id, answer):
        register = {"type": "register", "agent_id": agent_id, "token": "judge"}
        register |= {"bridge_version": "2", "agent_type": "judge", "capabilities": ["talk"]}
        register |= {"extensions": ["input"]}
        await ws.send(json.dumps(register))
        async for text in ws:
            frame = json.loads(text)
            if frame["type"] == "message":
                names = {name: frame[name] for name in ("session_id", "request_id")}
                await answer(lambda **rest: ws.send(json.dumps(names | rest)), frame)
            elif frame["type"] == "answer":
                done = {"type": "done", "request_id": frame["request_id"], "result": "thanks"}
                await ws.send(json.dumps(done))
            elif frame["type"] == "rtc_signal_relay":
                ticket = json.loads(frame["payload"]) if frame["signal_type"] == "relay" else None
                if ticket and agent_id != "keeper":
                    await asyncio.to_thread(self.meet, **ticket)
                    continue
                signal = {"type": "rtc_signal", "target_agent_id": frame["from_agent_id"]}
                signal |= {"transfer_id": frame["transfer_id"]}
                payload = ticket["ticket"] if ticket else "v=0"
                signal |= {"signal_type": "answer", "payload": payload}
                await ws.send(json.dumps(signal))

    def meet(self, ticket, offset, direction):
        """Sends or receives an archive through the hub."""
        url = f"{self.http}/v1/transfers/{ticket}"
        try:
            if direction == "send":
                requests.put(url, data=ARCHIVE[offset:], timeout=20)
            else:
                requests.get(url, timeout=20)
        except requests.RequestException:
            # The other party sent other bytes than announced, and the hub closed both ends. The agent stays connected.
            pass
