// An outside judge of the Agora door: runs through the whole specification with the `ws` package.
//
//     NODE_PATH=…/node_modules node agora.cjs ws://127.0.0.1:7411/ws
//
// Exit code 0 if everything was as specified, 1 with the difference otherwise.

const { deepStrictEqual } = require("node:assert");
const WebSocket = require("ws");

const QUERY = { action: "query", body: { question: "..." } };

class Agent {
  constructor(url) {
    this.frames = [];
    this.waiting = [];
    this.ws = new WebSocket(url);
    this.opened = new Promise((resolve, reject) => {
      this.ws.on("open", resolve);
      this.ws.on("error", reject);
    });
    this.ws.on("message", (data, isBinary) => {
      const frame = isBinary ? "a binary frame" : JSON.parse(data.toString());
      const next = this.waiting.shift();
      if (next) next(frame);
      else this.frames.push(frame);
    });
  }

  send(frame) {
    this.ws.send(JSON.stringify(frame));
  }

  frame() {
    if (this.frames.length > 0) return Promise.resolve(this.frames.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  async expect(frame) {
    deepStrictEqual(await this.frame(), frame);
  }

  async register(id) {
    await this.opened;
    this.send({ type: "register", id, name: id.toUpperCase() });
    await this.expect({ type: "registered", id });
  }
}

// A stream from `one` to `two`, with the frame types of a message or a reply.
async function relay(one, two, up, down, stream_id) {
  one.send({ type: up, to: "js-2", stream_id, stream: true, payload: QUERY });
  await two.expect({ type: down, from: "js-1", stream_id, stream: true, payload: QUERY });
  for (const chunk of ["This is", " a segment", 'é😀\n"quoted"']) {
    one.send({ type: `${up}_chunk`, to: "js-2", stream_id, chunk });
    await two.expect({ type: `${down}_chunk`, from: "js-1", stream_id, chunk });
  }
  one.send({ type: `${up}_end`, to: "js-2", stream_id });
  await two.expect({ type: `${down}_end`, from: "js-1", stream_id });
}

async function play(url) {
  const [one, two] = [new Agent(url), new Agent(url)];
  console.log("  register");
  await one.register("js-1");
  await two.register("js-2");

  console.log("  list");
  one.send({ type: "list" });
  const { type, agents } = await one.frame();
  deepStrictEqual(type, "agents");
  const found = agents.find((agent) => agent.id === "js-2");
  deepStrictEqual(found.name, "JS-2");
  if (Number.isNaN(Date.parse(found.registered_at))) throw new Error(`no time: ${found.registered_at}`);

  console.log("  one-shot message and reply");
  const payload = { ...QUERY, request_id: "r-1" };
  one.send({ type: "send", to: "js-2", payload });
  await two.expect({ type: "message", from: "js-1", payload });
  const answer = { request_id: "r-1", answer: 42 };
  two.send({ type: "reply", to: "js-1", payload: answer });
  await one.expect({ type: "reply", from: "js-2", payload: answer });

  console.log("  streamed message and streamed reply");
  await relay(one, two, "send", "message", "stream-1");
  await relay(one, two, "reply", "reply", "stream-1");
  await relay(one, two, "reply", "reply", "stream-2");

  console.log("  mistakes");
  one.ws.send("not JSON");
  deepStrictEqual((await one.frame()).code, "invalid");
  one.send({ type: "send", to: "nobody", payload: QUERY });
  const refused = await one.frame();
  deepStrictEqual([refused.code, refused.to], ["not_found", "nobody"]);

  console.log("  disconnect");
  one.send({ type: "send", to: "js-2", stream_id: "open", stream: true });
  await two.frame();
  one.ws.close();
  const error = await two.frame();
  deepStrictEqual(
    [error.type, error.code, error.from, error.stream_id],
    ["error", "offline", "js-1", "open"],
  );
  two.ws.close();
}

const late = setTimeout(() => fail(new Error("nothing came in time")), 60_000);

function fail(problem) {
  console.log(`FAILED: ${problem.message}`);
  process.exit(1);
}

play(process.argv[2]).then(() => {
  clearTimeout(late);
  console.log("ok");
}, fail);
