"""A party to a transfer that aiortc plays, by lines of JSON. Signals are {"kind", "payload"} both ways; the first line says the role.

"receive": it calls, opens the channel, and takes an archive. "send": it is called, and sends one of the size asked for.
"""

import asyncio
import hashlib
import json
import sys

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp

PIECE = 64 * 1024


def say(**message):
    print(json.dumps(message), flush=True)


class Taken:
    """What came over the channel."""

    def __init__(self):
        self.header = None
        self.size = 0
        self.largest = 0
        self.hash = hashlib.sha256()
        self.complete = asyncio.Event()

    def take(self, message):
        if isinstance(message, bytes):
            self.size += len(message)
            self.largest = max(self.largest, len(message))
            self.hash.update(message)
            return
        message = json.loads(message)
        if message["type"] == "header":
            self.header = message
        elif message["type"] == "complete":
            self.complete.set()

    def told(self):
        return {"header": self.header, "size": self.size, "largest": self.largest, "sha256": self.hash.hexdigest()}


async def signals():
    """The signals of the other side, one by one."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield json.loads(line)


async def hear(peer, signalled):
    """Takes what is signalled until the end of input."""
    async for signal in signalled:
        if signal["kind"] == "candidate":
            line = json.loads(signal["payload"])
            candidate = candidate_from_sdp(line["candidate"].removeprefix("candidate:"))
            candidate.sdpMid = line["mid"]
            await peer.addIceCandidate(candidate)
            continue
        await peer.setRemoteDescription(RTCSessionDescription(signal["payload"], signal["kind"]))
        if signal["kind"] == "offer":
            await peer.setLocalDescription(await peer.createAnswer())
            say(kind="answer", payload=peer.localDescription.sdp)


async def receive(peer):
    # A channel of another name is none of the other side's business.
    peer.createDataChannel("chatter")
    channel = peer.createDataChannel("file-transfer")
    taken = Taken()
    channel.on("message", taken.take)
    await peer.setLocalDescription(await peer.createOffer())
    say(kind="offer", payload=peer.localDescription.sdp)
    await taken.complete.wait()
    return taken.told()


async def send(peer, size):
    opened = asyncio.get_running_loop().create_future()
    peer.on("datachannel", opened.set_result)
    channel = await opened
    assert channel.label == "file-transfer", channel.label
    channel.send(json.dumps({"type": "header", "transfer_id": "judge", "zip_size": size}))
    archive = bytes(number % 251 for number in range(size))
    for at in range(0, size, PIECE):
        channel.send(archive[at : at + PIECE])
    channel.send(json.dumps({"type": "complete"}))
    while channel.bufferedAmount > 0:
        await asyncio.sleep(0.01)
    return {"size": size, "sha256": hashlib.sha256(archive).hexdigest()}


async def main():
    signalled = signals()
    role = await anext(signalled)
    peer = RTCPeerConnection()
    hearing = asyncio.create_task(hear(peer, signalled))
    if role["role"] == "receive":
        done = await receive(peer)
        # As the published client does: as soon as it has all.
        await peer.close()
        say(done=done)
    else:
        say(done=await send(peer, role["size"]))
    await hearing
    await peer.close()


asyncio.run(main())
