// A peer of the published `libp2p` for JavaScript, written like the protocol's own document: it serves its card, accepts
// handoffs, and calls other peers.
//
//     NODE_PATH=…/node_modules node peer.mjs
//
// `peer.py` documents the lines.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

// Built into Node since version 22.
Promise.withResolvers ??= () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

/** Imports a package from NODE_PATH, which modules ignore. */
async function load(name, entry = ".") {
  const folder = join(process.env.NODE_PATH, name);
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json")));
  return import(pathToFileURL(join(folder, exports[entry].import)));
}

const { createLibp2p } = await load("libp2p");
const { noise } = await load("@chainsafe/libp2p-noise");
const { yamux } = await load("@chainsafe/libp2p-yamux");
const { circuitRelayServer, circuitRelayTransport } = await load("@libp2p/circuit-relay-v2");
const { generateKeyPair, generateKeyPairFromSeed, publicKeyToProtobuf } = await load("@libp2p/crypto", "./keys");
const { identify } = await load("@libp2p/identify");
const { ping } = await load("@libp2p/ping");
const { tcp } = await load("@libp2p/tcp");
const { multiaddr } = await load("@multiformats/multiaddr");

const CARD = "/ai-agent/card/1.0.0";
const HANDOFF = "/ai-agent/handoff/1.0.0";
const STREAMED = "/ai-agent/handoff/1.1.0";
// Timeout in seconds of a served stream, and of a command without its own.
const PATIENCE = 60;
const SOON = 20;
/** Maximum length of a text in a line. */
const LINE = 32 << 10;
/** A relay's limit per circuit: enough for long answers. */
const CIRCUIT = { defaultDataLimit: BigInt(64 << 20), defaultDurationLimit: 600_000 };
/** Allows streams on relayed connections, which count as limited here, and many concurrent streams. */
const ANYWHERE = { runOnLimitedConnection: true, maxInboundStreams: 512, maxOutboundStreams: 512 };

const tell = (words) => console.log(JSON.stringify(words));
const text = (bytes) => Buffer.from(bytes).toString();
const bytes = (value) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

/** Parses JSON; undefined on error. */
function parsed(data) {
  try {
    return JSON.parse(text(data));
  } catch {
    return undefined;
  }
}

/** An error in the protocol's format. */
class Refusal extends Error {
  constructor(error, code) {
    super(error);
    this.body = { error, code };
  }
}

/** Rejects after a timeout in seconds. */
async function within(seconds, work) {
  const over = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: over.signal }).then(() => {
    throw new Error(`not within ${seconds} s`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

const isBroken = ({ status }) => status === "reset" || status === "aborted";

/** Rejects when the other side resets the stream. */
function broken(stream) {
  return new Promise((_, reject) => {
    stream.addEventListener("close", ({ error, local }) => error && !local && reject(error));
  });
}

/** The received bytes, the number of reads, and the end. */
async function read(stream, reading, heard = () => {}) {
  const pieces = [];
  const came = (end) => ({ data: Buffer.concat(pieces), reads: pieces.length, end });
  try {
    for await (const piece of stream) {
      pieces.push(piece.subarray());
      heard(piece.subarray());
      if (reading === "once" || (reading === "json" && parsed(Buffer.concat(pieces)))) return came("unread");
    }
  } catch (error) {
    if (!isBroken(stream)) throw error;
    return came("reset");
  }
  return came("fin");
}

/** Each release continues one live stream. */
const releases = {
  permits: 0,
  waiting: [],
  give() {
    const next = this.waiting.findIndex(({ stream }) => !isBroken(stream));
    if (next >= 0) this.waiting.splice(next, 1)[0].go();
    else this.permits += 1;
  },
  async take(stream) {
    if (this.permits) this.permits -= 1;
    else await new Promise((go) => this.waiting.push({ stream, go }));
  },
};

class Peer {
  /** The streams of running commands. */
  streams = new Map();

  static async start({ card, listen = ["/ip4/127.0.0.1/tcp/0"], reading = "once", seed, key, relay = false, pings = true, monitor }) {
    const peer = new Peer();
    peer.reading = reading;
    peer.shown = card;
    if (seed) peer.key = await generateKeyPairFromSeed("Ed25519", Buffer.from(seed, "hex"));
    else peer.key = await (key === "rsa" ? generateKeyPair("RSA", 2048) : generateKeyPair("Ed25519"));
    peer.node = await createLibp2p({
      privateKey: peer.key,
      start: false,
      addresses: { listen },
      transports: [tcp(), circuitRelayTransport()],
      connectionEncrypters: [noise()],
      streamMuxers: [yamux()],
      ...(monitor && { connectionMonitor: { pingInterval: monitor } }),
      services: {
        identify: identify(),
        ...(pings && { ping: ping() }),
        ...(relay && { relay: circuitRelayServer({ reservations: CIRCUIT }) }),
      },
    });
    await peer.serve(CARD, async (stream) => {
      await peer.say(stream, bytes(peer.shown));
      tell({ event: "shown" });
    });
    await peer.serve(HANDOFF, (stream, connection) => peer.serveHandoff(stream, connection));
    await peer.serve(STREAMED, (stream, connection) => peer.serveHandoff(stream, connection));
    // Started last, so that the first connections see all protocols.
    await peer.node.start();
    return peer;
  }

  // As a server.

  serve(protocol, serve) {
    const handle = async (stream, connection) => {
      try {
        await within(PATIENCE, Promise.race([serve(stream, connection), broken(stream)]));
      } catch (error) {
        tell({ event: "lost", protocol, error: String(error) });
        stream.abort(error);
      }
    };
    return this.node.handle(protocol, handle, ANYWHERE);
  }

  /** A write, as large as the stream accepts. */
  async say(stream, body) {
    await this.write(stream, body);
    await stream.close();
  }

  async write(stream, body) {
    if (body.length && !stream.send(body)) await stream.onDrain();
  }

  async serveHandoff(stream, connection) {
    const { data } = await read(stream, this.reading);
    const { protocol } = stream;
    tell({ event: "handoff", peer: `${connection.remotePeer}`, protocol, body: text(data), bytes: data.length });
    let answer;
    try {
      const request = parsed(data);
      if (!request) throw new Refusal("Invalid JSON", 400);
      if (request.path === "/reset") return stream.abort(new Error("told to"));
      if (request.path === "/count" && protocol === STREAMED) return await this.count(stream, request);
      if (request.path === "/flood" && protocol === STREAMED) return await this.flood(stream);
      answer = await this.answer(request, stream);
      if (protocol === STREAMED) answer = await this.framed(stream, answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      answer = protocol === STREAMED ? { type: "error", ...error.body } : error.body;
    }
    const line = protocol === STREAMED ? JSON.stringify(answer) + "\n" : answer;
    await this.say(stream, bytes(line));
  }

  /** Writes the last frame of an answer; text too long for a line is sent in pieces before. */
  async framed(stream, data) {
    if (typeof data !== "string" || data.length < LINE) return { type: "result", data };
    for (let seq = 0; seq * LINE < data.length; seq += 1) {
      const piece = data.slice(seq * LINE, (seq + 1) * LINE);
      await this.write(stream, bytes(JSON.stringify({ type: "chunk", seq, data: piece }) + "\n"));
    }
    return { type: "result" };
  }

  /** The answer: a text, or a JSON value. */
  async answer({ path, params, input_data: given = null }, stream) {
    params ??= {};
    if (path === "/slow") await releases.take(stream);
    if (path === "/echo" || path === "/slow") return given ?? "null";
    if (path === "/large") return `"${"x".repeat((params.bytes ?? 1 << 20) - 2)}"`;
    if (path === "/count") return Array.from({ length: params.to ?? 3 }, (_, index) => `${index + 1} `).join("");
    if (path === "/mute") return "";
    if (path === "/{goal}") return { goal: params.goal ?? null, input: given };
    if (path === "/error") throw new Refusal(params.error ?? "it failed", params.code ?? 500);
    throw new Refusal("HTTP error: 404", 404);
  }

  async count(stream, { params }) {
    const frame = (words) => this.write(stream, bytes(JSON.stringify(words) + "\n"));
    await frame({ type: "accepted", task_id: "t-1" });
    let said = "";
    for (let seq = 0; seq < (params?.to ?? 3); seq += 1) {
      if (seq) await releases.take(stream);
      const data = `${seq + 1} `;
      await frame({ type: "chunk", seq, data });
      said += data;
    }
    await frame({ type: "result", data: said });
    await stream.close();
  }

  async flood(stream) {
    for (let seq = 0; seq < 2048; seq += 1) {
      const frame = bytes(JSON.stringify({ type: "chunk", seq, data: "x".repeat(LINE) }) + "\n");
      // The promise of `onDrain` resolves only once.
      if (!stream.send(frame)) await once(stream, "drain");
    }
    await this.say(stream, bytes('{"type":"result"}\n'));
  }

  // As a client.

  card(command) {
    return this.exchange(command, [CARD], command.greeting ?? "");
  }

  handoff(command) {
    return this.exchange(command, [HANDOFF], command.raw ?? JSON.stringify(command.request));
  }

  async exchange(command, usual, payload) {
    const { id, addr, protocols = usual, half_close, reading = "end" } = command;
    const stream = await this.node.dialProtocol(multiaddr(addr), protocols, ANYWHERE);
    this.streams.set(id, stream);
    try {
      await this.write(stream, bytes(payload));
      if (half_close) await stream.close();
      const heard = (piece) => {
        command.came = (command.came ?? 0) + piece.length;
        if (command.tell) tell({ event: "read", of: id, body: text(piece) });
      };
      const { data, reads, end } = await read(stream, reading, heard);
      if (stream.status === "aborted") throw new Error("told to");
      if (end !== "reset") await stream.close();
      return { body: text(data), bytes: data.length, reads, end, protocol: stream.protocol };
    } finally {
      this.streams.delete(id);
    }
  }

  async reserve({ relay }) {
    const mine = () => this.node.getMultiaddrs().find((addr) => `${addr}`.startsWith(`${relay}/p2p-circuit`));
    const { transportManager } = this.node.components;
    await transportManager.listen([multiaddr(`${relay}/p2p-circuit`)]);
    while (!mine()) await once(this.node, "self:peer:update");
    return { addr: `${mine()}` };
  }

  async connect({ addr }) {
    return { peer: `${(await this.node.dial(multiaddr(addr))).remotePeer}` };
  }

  async disconnect({ peer }) {
    for (const connection of this.node.getConnections()) {
      if (`${connection.remotePeer}` === peer) await connection.close();
    }
  }

  cancel({ of }) {
    this.streams.get(of).abort(new Error("told to"));
  }

  release() {
    releases.give();
  }

  /** Waits until the connection monitor has this many answered pings. */
  async pinged({ peer, times }) {
    const [connection] = this.node.getConnections().filter(({ remotePeer }) => `${remotePeer}` === peer);
    for (let time = 0; time < times; time += 1) {
      connection.rtt = undefined;
      while (connection.rtt === undefined) {
        if (connection.status !== "open") throw new Error(`the connection is ${connection.status}`);
        await sleep(10);
      }
    }
    return {};
  }

  peers() {
    return { peers: this.node.getPeers().map(String) };
  }

  show({ card }) {
    this.shown = card;
  }

  async sign({ text }) {
    const base64 = (data) => Buffer.from(data).toString("base64");
    const signature = await this.key.sign(bytes(text));
    return { signature: base64(signature), public_key: base64(publicKeyToProtobuf(this.key.publicKey)) };
  }
}

const DEEDS = ["card", "handoff", "reserve", "connect", "disconnect", "cancel", "release", "peers", "pinged", "show", "sign"];

async function obey(peer, command) {
  const { id } = command;
  try {
    if (!DEEDS.includes(command.do)) throw new Error(`cannot ${command.do}`);
    const said = await within(command.within ?? SOON, Promise.resolve(peer[command.do](command)));
    tell({ id, ok: true, ...said });
  } catch (error) {
    peer.streams.get(id)?.abort(error);
    tell({ id, ok: false, error: `${error.name}: ${error.message}`, bytes: command.came ?? 0 });
  }
}

const lines = createInterface({ input: process.stdin });
let peer;
lines.on("line", async (line) => {
  // The first line creates the peer; the following lines wait for it.
  if (peer) return obey(await peer, JSON.parse(line));
  peer = Peer.start(JSON.parse(line));
  const { node } = await peer;
  tell({ event: "ready", peer_id: `${node.peerId}`, addrs: node.getMultiaddrs().map(String) });
});
lines.once("close", () => process.exit(0));
