// An outside judge of the A2A door: calls agents with the published `@a2a-js/sdk` 0.3, version 0.3 of the protocol.
//
//     NODE_PATH=…/node_modules node js_v03.cjs --transports NAME … --agents http://127.0.0.1:7411/a2a/agents/ID …
//
// Each agent is found by its card and called by each transport on the card. One line per promise; exit code 1 with the
// difference on failure.

const { randomUUID } = require("node:crypto");
const {
  ClientFactory, ClientFactoryOptions, JsonRpcTransport, RestTransport, TaskNotCancelableError, TaskNotFoundError,
} = require("@a2a-js/sdk/client");
const {
  ANSWER, COUNT, FILES, HELLO, NOBODY, QUESTION, all, check, fails, options, run, same, step,
} = require("./promise.cjs");

const TRANSPORTS = { JSONRPC: JsonRpcTransport, "HTTP+JSON": RestTransport };
const OPEN = ["submitted", "working"];

const params = (text, task, configuration) => ({
  message: {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    taskId: task?.id,
    contextId: task?.contextId,
  },
  configuration,
});

const words = (parts) => (parts ?? []).map((part) => part.text).join("");
const made = (task) => (task.artifacts ?? []).map((artifact) => words(artifact.parts)).join("");
const said = (task, role) =>
  (task.history ?? []).filter((message) => message.role === role).map((message) => words(message.parts));

/** The events of a stream about a single task, with their order checked while reading. */
class Followed {
  constructor(task) {
    same(task.kind, "task", "a stream begins with the task");
    this.task = task;
    this.state = task.status.state;
    this.text = made(task);
    this.artifacts = new Set((task.artifacts ?? []).map((artifact) => artifact.artifactId));
    this.isFinal = false;
  }

  hear(update) {
    check(!this.isFinal, "nothing comes after the end", update);
    same(update.taskId, this.task.id, "an update names its task");
    if (update.kind === "status-update") {
      this.state = update.status.state;
      this.message = words(update.status.message?.parts);
      this.isFinal = update.final;
      same(update.final, !OPEN.includes(this.state), "what says that it is final is the end");
    } else {
      same(update.kind, "artifact-update", "a stream goes on with updates");
      const { artifactId, parts } = update.artifact;
      const isKnown = this.artifacts.has(artifactId);
      // With REST this client drops `append`.
      same(update.append ?? isKnown, isKnown, "only the first piece of an artifact is no appended one");
      this.artifacts.add(artifactId);
      this.text += words(parts);
    }
  }

  /** Reads until the end, or until `enough`. */
  static async read(stream, isEnough = () => false) {
    let followed;
    for await (const event of stream) {
      if (followed) followed.hear(event);
      else followed = new Followed(event);
      if (isEnough(followed)) return followed;
    }
    check(followed?.isFinal, "a stream ends with what says that it is final", followed);
    return followed;
  }
}

async function oneShot(client) {
  const task = await client.sendMessage(params("hello"));
  same([task.kind, task.status?.state], ["task", "completed"], "the task is completed");
  same(made(task), HELLO, "the answer is in the artifacts");
  same(said(task, "user"), ["hello"], "the question is in the history");
  same(said(task, "agent").join(""), HELLO, "the answer is in the history");
  step("one-shot: completed, with the answer in artifacts and history");
}

async function streamed(client) {
  const followed = await Followed.read(client.sendMessageStream(params("hello")));
  same([followed.state, followed.text], ["completed", HELLO], "the stream brings the answer and ends with completed");
  const stored = await client.getTask({ id: followed.task.id });
  same([stored.status.state, made(stored)], ["completed", HELLO], "the task is stored as it was streamed");
  step("streamed: the task, the answer in pieces, completed");
}

async function cancelled(client) {
  let cancel;
  const followed = await Followed.read(client.sendMessageStream(params("work")), ({ task, text }) => {
    if (text) cancel ??= client.cancelTask({ id: task.id });
  });
  const task = await cancel;
  same([task.status.state, followed.state], ["canceled", "canceled"], "a cancelled task is canceled, in its stream too");
  await fails(client.cancelTask({ id: task.id }), TaskNotCancelableError, "a canceled task cannot be cancelled");
  const started = await client.sendMessage(params("work", undefined, { blocking: false }));
  check(OPEN.includes(started.status.state), "who does not wait gets a task that goes on", started);
  same((await client.cancelTask({ id: started.id })).status.state, "canceled", "it can be cancelled");
  step("cancelled: streamed and not waited for; twice is an error");
}

async function resubscribed(client) {
  const line = new AbortController();
  const dropped = client.sendMessageStream(params("count"), { signal: line.signal });
  const { task } = await Followed.read(dropped, ({ text }) => text);
  line.abort();
  let release;
  const again = await Followed.read(client.resubscribeTask({ id: task.id }), () => {
    release ??= client.sendMessage(params("release"));
  });
  await release;
  same(again.task.id, task.id, "a subscription begins with the same task");
  same(again.state, "completed", "a dropped connection does not harm the task");
  same(again.text, COUNT, "the task and what follows are the whole answer, once");
  step("resubscribed: after a dropped connection, nothing lost, nothing doubled");
}

async function lookedUp(client) {
  const { id } = await client.sendMessage(params("hello"));
  const short = await client.getTask({ id, historyLength: 1 });
  same([made(short), short.history.length], [HELLO, 1], "get gives the artifacts and as much history as asked for");
  step("looked up: get, with history");
}

async function pushed(client) {
  const { id } = await client.sendMessage(params("hello"));
  const url = "http://127.0.0.1:9/told";
  const mine = { id, pushNotificationConfigId: "mine" };
  const set = await client.setTaskPushNotificationConfig({
    taskId: id,
    pushNotificationConfig: { id: "mine", url, token: "t-1" },
  });
  same([set.taskId, set.pushNotificationConfig.url], [id, url], "a config is set as it was given");
  const read = await client.getTaskPushNotificationConfig(mine);
  same([read.taskId, read.pushNotificationConfig.url], [id, url], "a config can be read");
  const listed = await client.listTaskPushNotificationConfig({ id });
  same(listed.map((config) => config.pushNotificationConfig.id), ["mine"], "configs are listed");
  await client.deleteTaskPushNotificationConfig(mine);
  await fails(client.getTaskPushNotificationConfig(mine), Error, "a deleted config is gone");
  step("push configs: set, read, listed, deleted");
}

async function extended(client) {
  const { name } = client.agentCard;
  await fails(client.getAgentCard(), Error, "the extended card is for those who show a token");
  // A hub on loopback accepts any token.
  const token = { serviceParameters: { Authorization: "Bearer any" } };
  same((await client.getAgentCard(token)).name, name, "the extended card is of the same agent");
  step("extended card: with a token");
}

async function asked(client) {
  let task = await client.sendMessage(params("ask"));
  same(task.status.state, "input-required", "a question makes the task input-required");
  same(words(task.status.message?.parts), QUESTION, "the question is the message of the status");
  task = await client.sendMessage(params("blue", task));
  same(task.status.state, "completed", "with the answer the task completes");
  check(made(task).endsWith(ANSWER), "the answer has reached the agent", task);
  let followed = await Followed.read(client.sendMessageStream(params("ask")));
  same([followed.state, followed.message], ["input-required", QUESTION], "a stream ends with the question");
  followed = await Followed.read(client.sendMessageStream(params("blue", followed.task)));
  same(followed.state, "completed", "the stream of the answer ends with completed");
  check(followed.text.endsWith(ANSWER), "it brings the rest", followed.text);
  step("input required: sent and streamed, goes on with the same task");
}

async function filed(client) {
  for (const bytes of FILES) {
    const sent = params("file");
    sent.message.parts.push({ kind: "file", file: { bytes: bytes.toString("base64"), mimeType: "a/b", name: "f" } });
    const task = await client.sendMessage(sent);
    const parts = task.artifacts.flatMap((artifact) => artifact.parts);
    const text = words(parts.filter((part) => part.kind === "text"));
    same(text, bytes.toString("hex"), "the agent gets the bytes of a file");
    const files = parts.filter((part) => part.kind === "file").map((part) => Buffer.from(part.file.bytes, "base64"));
    same(files, [Buffer.from(bytes).reverse()], "the caller gets the bytes of a file");
    const asked = task.history[0].parts[1].file.bytes;
    same(asked, bytes.toString("base64"), "the history has the bytes of a file");
  }
  step("files: their bytes reach the agent, and the caller");
}

async function refused(client) {
  const nobody = { id: NOBODY };
  await fails(client.getTask(nobody), TaskNotFoundError, "an unknown task is not found");
  await fails(client.cancelTask(nobody), TaskNotFoundError, "an unknown task cannot be cancelled");
  await fails(all(client.resubscribeTask(nobody)), TaskNotFoundError, "an unknown task has no stream");
  await fails(client.sendMessage(params("hello", nobody)), TaskNotFoundError, "an unknown task cannot go on");
  const stream = all(client.sendMessageStream(params("hello", nobody)));
  await fails(stream, TaskNotFoundError, "an unknown task cannot go on in a stream");
  step("errors: unknown tasks, by the client's own types");
}

run(async () => {
  const { agents, asking, filing, transports } = options();
  for (const base of [...agents, ...asking]) {
    console.log(base);
    for (const transport of transports) {
      console.log(` ${transport}`);
      const preferred = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [transport] });
      // Without the slash the resolver would drop the agent's id.
      const client = await new ClientFactory(preferred).createFromUrl(`${base}/`);
      check(client.transport instanceof TRANSPORTS[transport], "the card offers the transport", client.transport);
      for (const promise of [oneShot, streamed, cancelled, resubscribed, lookedUp, pushed, extended, refused]) {
        await promise(client);
      }
      if (asking.includes(base)) await asked(client);
      if (filing.includes(base)) await filed(client);
    }
  }
});
