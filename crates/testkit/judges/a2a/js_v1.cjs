// An outside judge of the A2A door: calls agents with the published `@a2a-js/sdk` 1.x, version 1.0 of the protocol.
//
//     NODE_PATH=…/node_modules node js_v1.cjs --transports NAME … --agents http://127.0.0.1:7411/a2a/agents/ID …
//
// Each agent is found by its card, whose signature is checked, and called by each transport on the card. One line per
// promise; exit code 1 with the difference on failure.

const { randomUUID } = require("node:crypto");
const { Role, TaskState, verifyAgentCardSignature } = require("@a2a-js/sdk");
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } = require("@a2a-js/sdk/client");
const { A2AError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } = require("@a2a-js/sdk/errors");
const {
  ANSWER, COUNT, HELLO, NOBODY, QUESTION, all, check, fails, options, run, same, step,
} = require("./promise.cjs");

// The verifier logs every invalid signature there.
console.debug = () => {};

const OPEN = [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING];
const COMPLETED = TaskState.TASK_STATE_COMPLETED;
const CANCELED = TaskState.TASK_STATE_CANCELED;
const INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED;

const request = (text, task, configuration) => ({
  tenant: "",
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content: { $case: "text", value: text }, mediaType: "", filename: "" }],
    taskId: task?.id ?? "",
    contextId: task?.contextId ?? "",
    extensions: [],
    referenceTaskIds: [],
  },
  configuration,
});

const words = (parts) => (parts ?? []).map((part) => part.content.value).join("");
const made = (task) => task.artifacts.map((artifact) => words(artifact.parts)).join("");
const said = (task, role) =>
  task.history.filter((message) => message.role === role).map((message) => words(message.parts));
const named = (id) => ({ tenant: "", id });

/** The events of a stream about a single task, with their order checked while reading. */
class Followed {
  constructor({ payload }) {
    same(payload?.$case, "task", "a stream begins with the task");
    this.task = payload.value;
    this.state = this.task.status.state;
    this.text = made(this.task);
    this.artifacts = new Set(this.task.artifacts.map((artifact) => artifact.artifactId));
  }

  hear({ payload }) {
    check(OPEN.includes(this.state), "nothing comes after the end", payload);
    same(payload.value.taskId, this.task.id, "an update names its task");
    if (payload.$case === "statusUpdate") {
      this.state = payload.value.status.state;
      this.message = words(payload.value.status.message?.parts);
    } else {
      same(payload.$case, "artifactUpdate", "a stream goes on with updates");
      const { artifactId, parts } = payload.value.artifact;
      same(payload.value.append, this.artifacts.has(artifactId), "only the first piece of an artifact is no appended one");
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
    check(followed, "a stream tells something", followed);
    return followed;
  }
}

async function oneShot(client) {
  const task = await client.sendMessage(request("hello"));
  same(task.status?.state, COMPLETED, "the task is completed");
  same(made(task), HELLO, "the answer is in the artifacts");
  same(said(task, Role.ROLE_USER), ["hello"], "the question is in the history");
  same(said(task, Role.ROLE_AGENT).join(""), HELLO, "the answer is in the history");
  step("one-shot: completed, with the answer in artifacts and history");
}

async function streamed(client) {
  const followed = await Followed.read(client.sendMessageStream(request("hello")));
  same([followed.state, followed.text], [COMPLETED, HELLO], "the stream brings the answer and ends with completed");
  const stored = await client.getTask(named(followed.task.id));
  same([stored.status.state, made(stored)], [COMPLETED, HELLO], "the task is stored as it was streamed");
  step("streamed: the task, the answer in pieces, completed");
}

async function cancelled(client) {
  let cancel;
  const followed = await Followed.read(client.sendMessageStream(request("work")), ({ task, text }) => {
    if (text) cancel ??= client.cancelTask(named(task.id));
  });
  const task = await cancel;
  same([task.status.state, followed.state], [CANCELED, CANCELED], "a cancelled task is canceled, in its stream too");
  await fails(client.cancelTask(named(task.id)), TaskNotCancelableError, "a canceled task cannot be cancelled");
  const started = await client.sendMessage(request("work", undefined, { returnImmediately: true }));
  check(OPEN.includes(started.status.state), "who does not wait gets a task that goes on", started);
  same((await client.cancelTask(named(started.id))).status.state, CANCELED, "it can be cancelled");
  step("cancelled: streamed and not waited for; twice is an error");
}

async function resubscribed(client) {
  const line = new AbortController();
  const dropped = client.sendMessageStream(request("count"), { signal: line.signal });
  const { task } = await Followed.read(dropped, ({ text }) => text);
  line.abort();
  let release;
  const again = await Followed.read(client.resubscribeTask(named(task.id)), () => {
    release ??= client.sendMessage(request("release"));
  });
  await release;
  same(again.task.id, task.id, "a subscription begins with the same task");
  same(again.state, COMPLETED, "a dropped connection does not harm the task");
  same(again.text, COUNT, "the task and what follows are the whole answer, once");
  await fails(all(client.resubscribeTask(named(task.id))), UnsupportedOperationError, "a task that ended has no stream");
  step("resubscribed: after a dropped connection, nothing lost, nothing doubled");
}

async function lookedUp(client) {
  const first = await client.sendMessage(request("hello"));
  const second = await client.sendMessage(request("hello"));
  const short = await client.getTask({ ...named(first.id), historyLength: 1 });
  same([made(short), short.history.length], [HELLO, 1], "get gives the artifacts and as much history as asked for");
  const listed = (filter) =>
    client.listTasks({
      tenant: "", contextId: "", status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "", ...filter,
    });
  const one = await listed({ contextId: first.contextId });
  same(one.tasks.map((task) => task.id), [first.id], "list gives the tasks of one context");
  const page = await listed({ pageSize: 1 });
  same(page.tasks.map((task) => task.id), [second.id], "list gives the newest first");
  const next = await listed({ pageSize: 1, pageToken: page.nextPageToken });
  same(next.tasks.map((task) => task.id), [first.id], "the next page goes on");
  step("looked up: get and list, with history, pages and contexts");
}

async function pushed(client) {
  const { id: taskId } = await client.sendMessage(request("hello"));
  const url = "http://127.0.0.1:9/told";
  const mine = { tenant: "", taskId, id: "mine" };
  const created = await client.createTaskPushNotificationConfig({ ...mine, url, token: "t-1", authentication: undefined });
  same([created.id, created.url], ["mine", url], "a config is created as it was given");
  same((await client.getTaskPushNotificationConfig(mine)).url, url, "a config can be read");
  const listed = await client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" });
  same(listed.configs.map((config) => config.id), ["mine"], "configs are listed");
  await client.deleteTaskPushNotificationConfig(mine);
  await fails(client.getTaskPushNotificationConfig(mine), A2AError, "a deleted config is gone");
  step("push configs: created, read, listed, deleted");
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
  let task = await client.sendMessage(request("ask"));
  same(task.status.state, INPUT_REQUIRED, "a question makes the task input-required");
  same(words(task.status.message?.parts), QUESTION, "the question is the message of the status");
  task = await client.sendMessage(request("blue", task));
  same(task.status.state, COMPLETED, "with the answer the task completes");
  check(made(task).endsWith(ANSWER), "the answer has reached the agent", task);
  let followed = await Followed.read(client.sendMessageStream(request("ask")));
  same([followed.state, followed.message], [INPUT_REQUIRED, QUESTION], "a stream ends with the question");
  followed = await Followed.read(client.sendMessageStream(request("blue", followed.task)));
  same(followed.state, COMPLETED, "the stream of the answer ends with completed");
  check(followed.text.endsWith(ANSWER), "it brings the rest", followed.text);
  step("input required: sent and streamed, goes on with the same task");
}

async function refused(client) {
  const ended = await client.sendMessage(request("hello"));
  const nobody = { id: NOBODY };
  await fails(client.getTask(named(NOBODY)), TaskNotFoundError, "an unknown task is not found");
  await fails(client.cancelTask(named(NOBODY)), TaskNotFoundError, "an unknown task cannot be cancelled");
  await fails(all(client.resubscribeTask(named(NOBODY))), TaskNotFoundError, "an unknown task has no stream");
  await fails(client.sendMessage(request("hello", nobody)), TaskNotFoundError, "an unknown task cannot go on");
  const stream = all(client.sendMessageStream(request("hello", nobody)));
  await fails(stream, TaskNotFoundError, "an unknown task cannot go on in a stream");
  await fails(client.sendMessage(request("hello", ended)), UnsupportedOperationError, "a task that ended cannot go on");
  step("errors: unknown and ended tasks, by the client's own types");
}

/** Fetches the card, and checks its signature with the hub's published key. */
async function signed(base) {
  // Without the slash the resolver would drop the agent's id.
  const card = await new DefaultAgentCardResolver().resolve(`${base}/`);
  const verify = verifyAgentCardSignature(async (kid, jku) => {
    const { keys } = await (await fetch(jku)).json();
    return keys.find((key) => key.kid === kid);
  });
  await verify(card);
  const isFooled = await verify({ ...card, name: `${card.name}!` }).then(() => true, () => false);
  check(!isFooled, "a changed card does not fit its signature", card);
  step("card: found, its signature right, a changed one wrong");
  return card;
}

run(async () => {
  const { agents, asking, transports } = options();
  for (const base of [...agents, ...asking]) {
    console.log(base);
    const card = await signed(base);
    for (const transport of transports) {
      console.log(` ${transport}`);
      const preferred = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [transport] });
      const client = await new ClientFactory(preferred).createFromAgentCard(card);
      same(client.transport.protocolName, transport, "the card offers the transport");
      for (const promise of [oneShot, streamed, cancelled, resubscribed, lookedUp, pushed, extended, refused]) {
        await promise(client);
      }
      if (asking.includes(base)) await asked(client);
    }
  }
});
