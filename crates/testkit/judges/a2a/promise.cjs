// Shared code of the judges in JavaScript: arguments and reports. promise.py describes the agents' behaviour.

const { isDeepStrictEqual, inspect, parseArgs } = require("node:util");

exports.HELLO = "Hello, world";
exports.COUNT = Array.from({ length: 20 }, (_, index) => `${index + 1} `).join("");
exports.QUESTION = "Which colour?";
exports.ANSWER = "You said: blue";
// Contents of files: bytes that are no text, and a text that is valid base64.
exports.FILES = [Buffer.from([255, 216, 255, 224]), Buffer.from("aGVsbG8x")];
exports.NOBODY = "00000000-0000-4000-8000-000000000000";

/** The agents to call, with their support of questions and files, and the transports. */
exports.options = () => {
  const list = { type: "string", multiple: true, default: [] };
  return parseArgs({ options: { agents: list, asking: list, filing: list, transports: list } }).values;
};

exports.step = (name) => console.log(`  ${name}`);

class Broken extends Error {}
exports.Broken = Broken;

const shown = (value) => inspect(value, { depth: 8, breakLength: 120 });

exports.check = (isKept, promise, came) => {
  if (!isKept) throw new Broken(`${promise}\n  got ${shown(came)}`);
};

exports.same = (came, expected, promise) => {
  if (!isDeepStrictEqual(came, expected)) {
    throw new Broken(`${promise}\n  expected ${shown(expected)}\n  got      ${shown(came)}`);
  }
};

/** Checks that the promise is rejected with an error of this kind, directly or as its cause. */
exports.fails = async (refused, kind, promise) => {
  let came;
  try {
    came = await refused;
  } catch (error) {
    if (error instanceof kind || error.cause instanceof kind) return;
    throw new Broken(`${promise}\n  got ${shown(error)}`);
  }
  throw new Broken(`${promise}\n  got no error but ${shown(came)}`);
};

/** All events of a stream. */
exports.all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};

/** Runs a judge; the exit code is 1 for a broken promise. */
exports.run = (judge) => {
  judge().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
};
