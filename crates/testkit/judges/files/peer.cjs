// A party of a transfer with node-datachannel, like the bridge's published client; see peer.py for the lines.

const { createHash } = require("node:crypto");
const readline = require("node:readline");
const { PeerConnection, cleanup } = require("node-datachannel");

const PIECE = 64 * 1024;
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

let peer;

function start() {
  peer = new PeerConnection("judge", { iceServers: [] });
  peer.onLocalDescription((sdp, type) => say({ kind: type, payload: sdp }));
  peer.onLocalCandidate((candidate, mid) =>
    say({ kind: "candidate", payload: JSON.stringify({ candidate, mid }) }),
  );
}

function receive() {
  const hash = createHash("sha256");
  const taken = { header: null, size: 0, largest: 0 };
  const channel = peer.createDataChannel("file-transfer");
  channel.onMessage((message) => {
    if (typeof message !== "string") {
      taken.size += message.length;
      taken.largest = Math.max(taken.largest, message.length);
      hash.update(Buffer.from(message));
      return;
    }
    const parsed = JSON.parse(message);
    if (parsed.type === "header") {
      taken.header = parsed;
    } else if (parsed.type === "complete") {
      // Closes as soon as the archive is complete.
      channel.close();
      peer.close();
      say({ done: { ...taken, sha256: hash.digest("hex") } });
    }
  });
}

function send(size) {
  peer.onDataChannel((channel) => {
    const archive = Buffer.alloc(size);
    for (let at = 0; at < size; at += 1) archive[at] = at % 251;
    channel.sendMessage(JSON.stringify({ type: "header", transfer_id: "judge", zip_size: size }));
    // Sends without checking the channel's buffer.
    for (let at = 0; at < size; at += PIECE) {
      channel.sendMessageBinary(archive.subarray(at, Math.min(at + PIECE, size)));
    }
    channel.sendMessage(JSON.stringify({ type: "complete" }));
    say({ done: { size, sha256: createHash("sha256").update(archive).digest("hex") } });
  });
}

const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.role) {
    start();
    if (message.role === "receive") receive();
    else send(message.size);
  } else if (message.kind === "candidate") {
    const { candidate, mid } = JSON.parse(message.payload);
    peer.addRemoteCandidate(candidate, mid);
  } else {
    peer.setRemoteDescription(message.payload, message.kind);
  }
});
lines.on("close", () => {
  peer.close();
  cleanup();
});
