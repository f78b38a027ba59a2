// Listener and behaviour of the servers in Node; `stage.py` and `script.py` describe both.

const { once } = require("node:events");
const { createInterface } = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");

const QUESTION = "Which colour?";
const FAILURE = "I cannot do that";
const FILE = { name: "note.txt", type: "text/plain", bytes: Buffer.from("Hello, file") };
const DATA = { answer: 42, unit: "apples" };

const PACE = 50;
const PATIENCE = 400;
const RELEASED_AFTER = 10_000;

const tell = (word) => console.log(word);

/** Listens, and serves the application that `build` creates for the announced URL. */
async function play(build) {
  const waiting = [];
  let app = (request, response) => waiting.push([request, response]);
  const server = require("node:http").createServer((request, response) => app(request, response));
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  tell(server.address().port);
  const lines = createInterface({ input: process.stdin });
  lines.once("line", (url) => {
    lines.on("line", () => release.give());
    app = build(url);
    for (const [request, response] of waiting) app(request, response);
  });
  lines.once("close", () => process.exit(0));
}

/** Each line continues one `count`. */
const release = new (class {
  permits = 0;
  waiting = [];

  give() {
    if (this.waiting.length) this.waiting.shift()();
    else this.permits += 1;
  }

  async take() {
    if (this.permits) this.permits -= 1;
    else await Promise.race([new Promise((go) => this.waiting.push(go)), sleep(RELEASED_AFTER)]);
  }
})();

/** The steps of an answer: text, or one of `ask`, `fail`, `attach`, `brief`. */
async function* answer(text, isAnswer) {
  const count = async function* (first, last, pace) {
    for (let number = first; number <= last; number += 1) {
      yield { say: `${number} ` };
      await sleep(pace);
    }
  };
  if (isAnswer) {
    yield { say: `You said: ${text}` };
  } else if (text === "hello") {
    yield { say: "Hello, " };
    yield { say: "world" };
  } else if (text === "count") {
    yield* count(1, 10, 0);
    await release.take();
    yield* count(11, 15, PACE);
    tell("fifteen");
    yield* count(16, 20, PACE);
  } else if (text === "work") {
    for (let said = 0; said < PATIENCE; said += 1) {
      yield { say: ". " };
      await sleep(PACE);
    }
  } else if (["ask", "fail", "brief"].includes(text)) {
    yield { [text]: true };
  } else if (text === "file") {
    yield { attach: true };
  } else {
    yield { say: `You said: ${text}` };
  }
}

module.exports = { DATA, FAILURE, FILE, QUESTION, answer, play, tell };
