"""A peer of the published `libp2p` for Python, written like the protocol's own document: it serves its card, accepts
handoffs, and calls other peers. `peer.mjs` is the same in JavaScript.

    python peer.py

then type lines of JSON; the peer answers with lines of JSON and exits when standard input is closed. The first line is the
configuration: {"card": {...}} and optionally

    "listen": ["/ip4/127.0.0.1/tcp/0"]    listen addresses; in Python also /ip4/127.0.0.1/udp/0/quic-v1
    "reading": "once" | "json" | "end"    how a handoff is read: by a single read as in the document, until a JSON
                                          value is complete, or until the caller closes its side
    "seed": 64 hex digits                 identity; random by default
    "key": "ed25519" | "rsa"              kind of a random identity
    "relay": true                         acts as a relay (JavaScript only)
    "pings": false                        answers no pings (JavaScript only)
    "monitor": N                          pings every N milliseconds, and disconnects silent peers (JavaScript only)

The peer prints {"event": "ready", "peer_id": ..., "addrs": [...]}. Each further line is a command with an `id`, which is
repeated in the answer; commands run concurrently:

    {"id": 1, "do": "card", "addr": A}                      optional "greeting": TEXT is written first
    {"id": 2, "do": "handoff", "addr": A, "request": {...}} or "raw": TEXT in place of the request; "half_close": true
    {"id": 3, "do": "reserve", "relay": A}                  makes the peer reachable through the relay
    {"id": 4, "do": "connect", "addr": A}
    {"id": 5, "do": "disconnect", "peer": P}
    {"id": 6, "do": "cancel", "of": 2}                      resets the stream of that command, which fails
    {"id": 7, "do": "release"}                              continues one `/slow`
    {"id": 8, "do": "peers"}                                connected peers
    {"id": 9, "do": "show", "card": {...}}                  replaces the card
    {"id": 11, "do": "pinged", "peer": P, "times": N}       waits for this number of pings (JavaScript only)
    {"id": 10, "do": "sign", "text": TEXT}                  answers {"signature": ..., "public_key": ...} in base64

`card` and `handoff` take "reading": "once" | "end" (end), "protocols": [...], and "tell": true for an event with every
read. An address with /p2p-circuit uses the named relay. Answers:

    {"id": 2, "ok": true, "body": TEXT, "bytes": N, "reads": N, "end": "fin" | "reset" | "unread", "protocol": P}
    {"id": 2, "ok": false, "error": TEXT, "bytes": N}       also after the timeout "within" (20 s); N bytes so far

A received handoff is printed as {"event": "handoff", "peer": P, "protocol": P, "body": TEXT, "bytes": N} before the
answer, a served card as {"event": "shown"}, and a reset by the caller as {"event": "lost", "protocol": P, "error": TEXT}, in
Python only after the answer is written. The path selects the answer:

    /echo    the input data
    /large   a JSON string, params.bytes long with its quotes
    /slow    the input data, after a `release`
    /error   {"error": params.error, "code": params.code}
    /count   "1 2 3 " up to params.to; over /ai-agent/handoff/1.1.0 (JavaScript only) as frames, a chunk per number,
             and a `release` before each except the first
    /flood   64 MiB as frames, as fast as possible (JavaScript only)
    /mute    only closes the stream
    /reset   resets the stream
    /{goal}  {"goal": params.goal, "input": the input data}
"""

import base64
import json
import os
import sys

import multiaddr
import trio
from libp2p import new_host
from libp2p.crypto import ed25519, rsa
from libp2p.network.stream.exceptions import StreamEOF, StreamReset
from libp2p.peer.id import ID
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.relay.circuit_v2.config import RelayConfig
from libp2p.relay.circuit_v2.protocol import PROTOCOL_ID as HOP
from libp2p.relay.circuit_v2.protocol import CircuitV2Protocol
from libp2p.relay.circuit_v2.transport import CircuitV2Transport
from libp2p.tools.anyio_service import background_trio_service

CARD = "/ai-agent/card/1.0.0"
HANDOFF = "/ai-agent/handoff/1.0.0"
# Timeout in seconds of a served stream, and of a command without its own.
PATIENCE = 60
SOON = 20


def tell(**words):
    print(json.dumps(words), flush=True)


def text(data):
    return data.decode("utf-8", "replace")


def is_complete(data):
    """Whether a JSON object is complete. Parses only if the last byte fits: there may be a thousand pieces."""
    try:
        return data.endswith(b"}") and json.loads(data) is not None
    except ValueError:
        return False


class Refusal(Exception):
    """An error in the protocol's format."""

    def __init__(self, error, code):
        super().__init__(error)
        self.body = json.dumps({"error": error, "code": code}).encode()


async def read(stream, reading, heard=lambda data: None):
    """The received bytes, the number of reads, and the end."""
    data, reads = b"", 0
    try:
        while True:
            piece = await stream.read()
            if not piece:
                return data, reads, "fin"
            data += piece
            reads += 1
            heard(piece)
            if reading == "once" or (reading == "json" and is_complete(data)):
                return data, reads, "unread"
    except StreamEOF:
        return data, reads, "fin"
    except StreamReset:
        return data, reads, "reset"


class Peer:
    def __init__(self, options, nursery):
        self.card = json.dumps(options["card"]).encode()
        self.reading = options.get("reading", "once")
        self.nursery = nursery
        self.releases = trio.Semaphore(0)
        self.scopes = {}
        seed = options.get("seed")
        self.listen = [multiaddr.Multiaddr(addr) for addr in options.get("listen", ["/ip4/127.0.0.1/tcp/0"])]
        if options.get("key") == "rsa":
            self.keys = rsa.create_new_key_pair()
        else:
            self.keys = ed25519.create_new_key_pair(bytes.fromhex(seed) if seed else None)
        self.host = new_host(key_pair=self.keys, listen_addrs=self.listen)
        self.circuits = CircuitV2Protocol(self.host)
        self.relayed = CircuitV2Transport(self.host, self.circuits, RelayConfig())
        self.host.set_stream_handler(CARD, self.served(self.serve_card))
        self.host.set_stream_handler(HANDOFF, self.served(self.serve_handoff))

    # As a server.

    @staticmethod
    def served(serve):
        async def handle(stream):
            with trio.move_on_after(PATIENCE):
                try:
                    await serve(stream)
                except Exception as error:
                    tell(event="lost", protocol=stream.get_protocol(), error=repr(error))

        return handle

    async def serve_card(self, stream):
        await stream.write(self.card)
        await stream.close()
        tell(event="shown")

    async def serve_handoff(self, stream):
        payload, _, _ = await read(stream, self.reading)
        protocol = stream.get_protocol()
        peer = str(stream.muxed_conn.peer_id)
        tell(event="handoff", peer=peer, protocol=protocol, body=text(payload), bytes=len(payload))
        try:
            request = json.loads(payload)
            if request.get("path") == "/reset":
                return await stream.reset()
            answer = await self.answer(request)
        except ValueError:
            answer = Refusal("Invalid JSON", 400).body
        except Refusal as refusal:
            answer = refusal.body
        if answer:
            await stream.write(answer)
        await stream.close()

    async def answer(self, request):
        """The body of an answer."""
        path, params, given = request.get("path"), request.get("params") or {}, request.get("input_data")
        if path == "/slow":
            await self.releases.acquire()
        if path in ("/echo", "/slow"):
            return given.encode() if isinstance(given, str) else json.dumps(given).encode()
        if path == "/large":
            return b'"%s"' % (b"x" * (params.get("bytes", 1 << 20) - 2))
        if path == "/count":
            return "".join(f"{number} " for number in range(1, params.get("to", 3) + 1)).encode()
        if path == "/mute":
            return b""
        if path == "/{goal}":
            return json.dumps({"goal": params.get("goal"), "input": given}).encode()
        if path == "/error":
            raise Refusal(params.get("error", "it failed"), params.get("code", 500))
        raise Refusal("HTTP error: 404", 404)

    # As a client.

    async def reach(self, addr):
        """Connects to the peer, and returns its id."""
        addr = multiaddr.Multiaddr(addr)
        if "p2p-circuit" not in [protocol.name for protocol in addr.protocols()]:
            info = info_from_p2p_addr(addr)
            await self.host.connect(info)
            return info.peer_id
        _, peer = self.relayed.parse_circuit_ma(addr)
        if not self.host.get_network().connections.get(peer):
            await self.relayed.dial(addr)
        return peer

    async def card_of(self, command):
        greeting = command.get("greeting")
        return await self.exchange(command, [CARD], greeting.encode() if greeting else b"")

    async def hand_off(self, command):
        raw = command.get("raw")
        payload = json.dumps(command["request"]) if raw is None else raw
        return await self.exchange(command, [HANDOFF], payload.encode())

    async def exchange(self, command, protocols, payload):
        peer = await self.reach(command["addr"])
        stream = await self.host.new_stream(peer, command.get("protocols", protocols))

        def heard(piece):
            command["came"] = command.get("came", 0) + len(piece)
            if command.get("tell"):
                tell(event="read", of=command["id"], body=text(piece))

        try:
            if payload:
                await stream.write(payload)
            if command.get("half_close"):
                await stream.close_write()
            data, reads, end = await read(stream, command.get("reading", "end"), heard)
            if end != "reset":
                await stream.close()
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await stream.reset()
            raise
        protocol = stream.get_protocol()
        return {"body": text(data), "bytes": len(data), "reads": reads, "end": end, "protocol": protocol}

    async def reserve(self, command):
        relay = info_from_p2p_addr(multiaddr.Multiaddr(command["relay"]))
        await self.host.connect(relay)
        stream = await self.host.new_stream(relay.peer_id, [HOP])
        if not await self.relayed.reserve(stream, relay.peer_id, self.nursery):
            raise ConnectionError("the relay refused the reservation")
        await stream.close()
        return {"addr": f"{command['relay']}/p2p-circuit/p2p/{self.host.get_id()}"}

    async def connect(self, command):
        return {"peer": str(await self.reach(command["addr"]))}

    async def disconnect(self, command):
        await self.host.disconnect(ID.from_string(command["peer"]))
        return {}

    async def cancel(self, command):
        self.scopes[command["of"]].cancel()
        return {}

    async def release(self, _):
        self.releases.release()
        return {}

    async def peers(self, _):
        return {"peers": [str(peer) for peer in self.host.get_connected_peers()]}

    async def show(self, command):
        self.card = json.dumps(command["card"]).encode()
        return {}

    async def sign(self, command):
        signature = self.keys.private_key.sign(command["text"].encode())
        public_key = self.keys.public_key.serialize()
        return {"signature": base64.b64encode(signature).decode(), "public_key": base64.b64encode(public_key).decode()}

    async def obey(self, command):
        deeds = {
            "card": self.card_of,
            "handoff": self.hand_off,
            "reserve": self.reserve,
            "connect": self.connect,
            "disconnect": self.disconnect,
            "cancel": self.cancel,
            "release": self.release,
            "peers": self.peers,
            "show": self.show,
            "sign": self.sign,
        }
        number, seconds = command["id"], command.get("within", SOON)
        with trio.move_on_after(seconds) as self.scopes[number]:
            try:
                said = await deeds[command["do"]](command)
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
            else:
                what = None
        scope = self.scopes.pop(number)
        if scope.cancelled_caught:
            what = f"not within {seconds} s" if trio.current_time() >= scope.deadline else "told to"
        if what is None:
            tell(id=number, ok=True, **said)
        else:
            tell(id=number, ok=False, error=what, bytes=command.get("came", 0))


async def main():
    lines = trio.wrap_file(sys.stdin)
    options = json.loads(await lines.readline())
    async with trio.open_nursery() as nursery:
        peer = Peer(options, nursery)
        async with peer.host.run(peer.listen), background_trio_service(peer.circuits):
            await peer.circuits.event_started.wait()
            tell(event="ready", peer_id=str(peer.host.get_id()), addrs=[str(addr) for addr in peer.host.get_addrs()])
            async for line in lines:
                nursery.start_soon(peer.obey, json.loads(line))
            # Open streams are not awaited.
            os._exit(0)


if __name__ == "__main__":
    trio.run(main)
