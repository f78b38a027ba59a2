// A server of the published `@a2a-js/sdk` 0.3: version 0.3, by JSON-RPC and REST.
//
//     NODE_PATH=…/node_modules node js_v03.cjs JSONRPC|HTTP+JSON
//
// The argument selects the binding on the card. See `stage.cjs`.

const { randomUUID } = require("node:crypto");
const { DefaultRequestHandler, InMemoryTaskStore } = require("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = require("@a2a-js/sdk/server/express");
const express = require("express");
const { DATA, FAILURE, FILE, QUESTION, answer, play, tell } = require("./stage.cjs");

const PATHS = { JSONRPC: "/rpc", "HTTP+JSON": "/rest" };

class Actor {
  cancelled = new Set();

  async execute({ userMessage, task, taskId, contextId }, bus) {
    const text = userMessage.parts.map(({ text }) => text ?? "").join("");
    const said = (text) => ({
      kind: "message",
      messageId: randomUUID(),
      role: "agent",
      parts: [{ kind: "text", text }],
      taskId,
      contextId,
    });
    const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });
    const update = (state, final, message) =>
      bus.publish({ kind: "status-update", taskId, contextId, status: status(state, message), final });
    const made = (artifactId, name, parts, append = false) => {
      const artifact = { artifactId, name, parts, metadata: userMessage.metadata };
      // Unknown fields of a message are returned in the artifact.
      if (userMessage.unheardOf) artifact.unheardOf = userMessage.unheardOf;
      bus.publish({ kind: "artifact-update", taskId, contextId, artifact, append });
    };

    let isFirst = true;
    for await (const step of answer(text, Boolean(task))) {
      if (this.cancelled.delete(taskId)) {
        tell("stopped");
        update("canceled", true);
        return bus.finished();
      }
      if (step.brief) {
        bus.publish({ ...said("briefly"), taskId: undefined });
        return bus.finished();
      }
      if (isFirst) {
        if (!task) {
          bus.publish({ kind: "task", id: taskId, contextId, status: status("submitted"), history: [userMessage] });
        }
        update("working", false);
      }
      if (step.say) made("answer", undefined, [{ kind: "text", text: step.say }], !isFirst);
      if (step.attach) {
        const file = { bytes: FILE.bytes.toString("base64"), name: FILE.name, mimeType: FILE.type };
        made("file", "the file", [{ kind: "file", file }]);
        made("data", "the data", [{ kind: "data", data: DATA }]);
      }
      if (step.ask) {
        update("input-required", true, said(QUESTION));
        return bus.finished();
      }
      if (step.fail) {
        update("failed", true, said(FAILURE));
        return bus.finished();
      }
      isFirst = false;
    }
    update("completed", true);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.cancelled.add(taskId);
  }
}

function card(url, binding) {
  return {
    name: "JavaScript 0.3",
    description: "Answers by the text",
    version: "1.2.3",
    protocolVersion: "0.3.0",
    url: url + PATHS[binding],
    preferredTransport: binding,
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "talk", name: "Talk", description: "Talks", tags: ["talk"] }],
  };
}

play((url) => {
  const requestHandler = new DefaultRequestHandler(card(url, process.argv[2]), new InMemoryTaskStore(), new Actor());
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  return express()
    .use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }))
    .use(PATHS.JSONRPC, jsonRpcHandler(options))
    .use(PATHS["HTTP+JSON"], restHandler(options));
});
