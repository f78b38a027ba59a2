"""A party of a transfer with aiortc, controlled by lines of JSON. Signals are {"kind", "payload"} both ways; the first line is
the role.

"receive": dials, opens the channel, and receives an archive. "send": is dialled, and sends an archive of the given size.
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
    """The bytes received over the channel."""

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
    """The other side's signals."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        yield json.loads(line)


async def hear(peer, signalled):
    """Applies signals until the end of input."""
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
    # The other side must ignore a channel with another name.
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
        # Closes as soon as the archive is complete, like the published client.
        await peer.close()
        say(done=done)
    else:
        say(done=await send(peer, role["size"]))
    await hearing
    await peer.close()


asyncio.run(main())
