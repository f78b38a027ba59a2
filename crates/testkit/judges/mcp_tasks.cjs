// An outside judge of tasks in the MCP door: the MCP project's own package for tasks, with the project's client.
//
//     node mcp_tasks.cjs URL AGENT …
//
// URL is the hub's /mcp. NODE_PATH names the folder of the packages. Every agent echoes messages, asks "which one?" for the
// message `ask`, and never answers the message `sleep`. The package checks every task against the protocol's schema.

const assert = require("node:assert");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const VERSION = "2026-07-28";
const LIMIT = 60_000;

/// The package has no entry for `require`.
const load = (file) => import(pathToFileURL(path.join(process.env.NODE_PATH, "@modelcontextprotocol", file)));

/// Sends a framed request by HTTP; the package leaves the transport of tasks to its host.
function dispatcher(url) {
  return async (request, options = {}) => {
    const name = request.params.name ?? request.params.taskId;
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": request.method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...request });
    const response = await fetch(url, { method: "POST", headers, body, signal: options.signal });
    const text = await response.text();
    const events = text.split("\n").filter((line) => line.startsWith("data:"));
    const lines = events.map((line) => line.slice(5).trim()).filter((line) => line !== "");
    const message = JSON.parse(lines.length > 0 ? lines.at(-1) : text);
    return "error" in message
      ? { kind: "error", error: message.error }
      : { kind: "result", result: message.result };
  };
}

async function play(session, agent, asked) {
  const call = (message) => session.callTool("call_agent", { agent, message });
  const settled = async (execution) => (await execution.settle()).outcome;

  const hello = await call("hello");
  assert.equal(hello.kind, "task", "a call becomes a task");
  const done = await settled(hello);
  assert.equal(done.status, "completed");
  assert.equal(done.result.structuredContent.text, "you said hello");
  assert.equal(done.result.structuredContent.task, hello.handle.taskId, "the task is the hub's");
  console.log("  a call is a task, and its result is polled");

  asked.length = 0;
  const answered = await settled(await call("ask"));
  assert.equal(answered.status, "completed");
  assert.match(answered.result.structuredContent.text, /you said the blue one$/);
  assert.equal(asked.length, 1, "the user is asked once");
  assert.match(asked[0].message, /which one\?/);
  console.log("  a question is asked of the user, and the answer reaches the agent");

  const sleeping = await call("sleep");
  await sleeping.cancel();
  const ended = await settled(sleeping);
  assert.equal(ended.status, "cancelled");
  const looked = await session.task(sleeping.handle.taskId).snapshot();
  assert.equal(looked.status, "cancelled");
  console.log("  a task is cancelled");
}

async function main([url, ...agents]) {
  const { createTaskSessionFromClient } = await load("ext-tasks/dist/client/index.js");
  const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
  const clientInfo = { name: "judge", version: "1" };
  const capabilities = { elicitation: { form: {} } };
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const asked = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: "hub",
    rawDispatch: dispatcher(url),
    v2RequestFraming: { protocolVersion: VERSION, clientInfo, clientCapabilities: capabilities },
    onInputRequest: async (request) => {
      assert.equal(request.kind, "elicitation");
      asked.push(request.params);
      return { action: "accept", content: { answer: "the blue one" } };
    },
  });
  for (const agent of agents) {
    console.log(agent);
    await play(session, agent, asked);
  }
  const unknown = session.task("0199c2f0-1111-7aaa-8bbb-123456789abc").snapshot();
  await assert.rejects(unknown, /no such task of yours/);
  const mistaken = await (await session.callTool("call_agent", { agent: "nobody", message: "x" })).settle();
  assert.equal(mistaken.outcome.result.isError, true, "a mistake of the model is a result");
  console.log("unknown tasks and agents are errors");
  await session.close();
  await client.close();
}

setTimeout(() => {
  console.error("it takes too long");
  process.exit(1);
}, LIMIT).unref();
main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
