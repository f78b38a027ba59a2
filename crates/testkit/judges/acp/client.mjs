// An outside judge of the ACP door: the protocol's own SDK for TypeScript, as an editor, over a process's pipes and a
// WebSocket.
//
//     NODE_PATH=…/node_modules node client.mjs HUB PROGRAM AGENT...
//
// HUB is the hub's URL and PROGRAM is jackfield. Every AGENT echoes messages ("you said ..."). The
// first one also asks "which one?" for the message `ask`, asks for approval for the message `approve`, and never answers the
// message `sleep`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const FOLDER = process.env.NODE_PATH;
const LIMIT = 60_000;

// Imports a package from NODE_PATH, which modules ignore.
async function load(name, entry) {
  const folder = join(FOLDER, name);
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return import(pathToFileURL(join(folder, exports[entry].import)));
}

const acp = await load("@agentclientprotocol/sdk", ".");
const { createWebSocketStream } = await load("@agentclientprotocol/sdk", "./experimental/ws-client");
const WebSocket = createRequire(join(FOLDER, "x.js"))("ws");
const { agent: methods, client: ours } = acp.methods;

// An editor's side of a connection: shows updates, answers forms, and allows what it is asked for.
class Editor {
  updates = [];
  permissions = [];
  forms = [];

  app() {
    return acp
      .client({ name: "judge" })
      .onNotification(ours.session.update, ({ params }) => {
        this.updates.push(params.update);
      })
      .onRequest(ours.session.requestPermission, ({ params }) => {
        this.permissions.push(params.toolCall.title);
        const allow = params.options.find((option) => option.kind === "allow_once");
        return { outcome: { outcome: "selected", optionId: allow.optionId } };
      })
      .onRequest(ours.elicitation.create, ({ params }) => {
        this.forms.push(params.message);
        return { action: "accept", content: { answer: "this" } };
      });
  }

  // The text of the answer so far, which is then forgotten.
  said() {
    const updates = this.updates.splice(0);
    const chunks = updates.filter((it) => it.sessionUpdate === "agent_message_chunk");
    return chunks.map((it) => it.content.text).join("");
  }
}

async function prompt(context, sessionId, text) {
  const answer = await context.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  return answer.stopReason;
}

async function open(context, agent) {
  const hello = await context.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { elicitation: { form: {} } },
  });
  assert.equal(hello.protocolVersion, 1);
  assert.equal(hello.agentInfo.name, agent);
  const { sessionId } = await context.request(methods.session.new, { cwd: "/", mcpServers: [] });
  return sessionId;
}

async function echo(context, editor, session) {
  assert.equal(await prompt(context, session, "hello"), "end_turn");
  assert.equal(editor.said(), "you said hello");
}

async function everything(context, editor, session) {
  assert.equal(await prompt(context, session, "ask"), "end_turn");
  assert.deepEqual(editor.forms, ["which one?"]);
  assert.equal(editor.said(), "you said this");

  assert.equal(await prompt(context, session, "approve"), "end_turn");
  assert.deepEqual(editor.permissions, ["rm"]);
  assert.equal(editor.said(), "you said yes");

  const sleeping = prompt(context, session, "sleep");
  await assert.rejects(prompt(context, session, "too early"), { code: -32600 });
  await context.notify(methods.session.cancel, { sessionId: session });
  assert.equal(await sleeping, "cancelled");
  await assert.rejects(prompt(context, "nothing", "hello"), { code: -32002 });
}

async function overPipes(program, hub, agent, isFirst) {
  const child = spawn(program, ["acp", agent, "--hub", hub], { stdio: ["pipe", "pipe", "inherit"] });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const editor = new Editor();
  const session = await editor.app().connectWith(stream, async (context) => {
    const session = await open(context, agent);
    await echo(context, editor, session);
    if (isFirst) {
      await everything(context, editor, session);
    }
    return session;
  });
  child.kill();
  return session;
}

async function overWebSocket(hub, agent, session) {
  const url = new URL(`/acp/${agent}`, hub.replace("http", "ws"));
  const stream = createWebSocketStream(url.href, { WebSocket });
  const editor = new Editor();
  await editor.app().connectWith(stream, async (context) => {
    await echo(context, editor, await open(context, agent));
    await context.request(methods.session.load, { sessionId: session, cwd: "/", mcpServers: [] });
    const users = editor.updates.filter((it) => it.sessionUpdate === "user_message_chunk");
    assert.equal(users[0].content.text, "hello");
    editor.said();
    await echo(context, editor, session);
  });
}

const [hub, program, ...agents] = process.argv.slice(2);
setTimeout(() => {
  console.error("not done in time");
  process.exit(1);
}, LIMIT).unref();
for (const agent of agents) {
  const session = await overPipes(program, hub, agent, agent === agents[0]);
  await overWebSocket(hub, agent, session);
  console.log(`${agent} is an agent of an editor`);
}
process.exit(0);
