// A server of the published `@a2a-js/sdk` 1.x: version 1.0, by JSON-RPC and REST.
//
//     NODE_PATH=…/node_modules node js_v1.cjs JSONRPC|HTTP+JSON
//
// The argument selects the binding on the card. See `stage.cjs`.

const { randomUUID } = require("node:crypto");
const { Role, TaskState } = require("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = require("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = require("@a2a-js/sdk/server/express");
const express = require("express");
const { DATA, FAILURE, FILE, QUESTION, answer, play, tell } = require("./stage.cjs");

const PATHS = { JSONRPC: "/rpc", "HTTP+JSON": "/rest" };

const part = ($case, value, filename = "", mediaType = "") => ({
  content: { $case, value },
  filename,
  mediaType,
  metadata: undefined,
});

class Actor {
  cancelled = new Set();

  async execute({ userMessage, task, taskId, contextId }, bus) {
    const text = userMessage.parts.map(({ content }) => content.value).join("");
    const said = (text) => ({
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [part("text", text)],
      taskId,
      contextId,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    });
    const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });
    const update = (state, message) =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, message), metadata: undefined }));
    const made = (artifactId, name, parts, append = false) => {
      const artifact = { artifactId, name, description: "", parts, metadata: userMessage.metadata, extensions: [] };
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: false, metadata: undefined }),
      );
    };

    let isFirst = true;
    for await (const step of answer(text, Boolean(task))) {
      if (this.cancelled.delete(taskId)) {
        tell("stopped");
        update(TaskState.TASK_STATE_CANCELED);
        return bus.finished();
      }
      if (step.brief) {
        bus.publish(AgentEvent.message({ ...said("briefly"), taskId: "" }));
        return bus.finished();
      }
      if (isFirst) {
        // Every answer must begin with the task, including a continued task.
        const known = task ?? { id: taskId, contextId, history: [userMessage], artifacts: [], metadata: undefined };
        bus.publish(AgentEvent.task({ ...known, status: status(TaskState.TASK_STATE_SUBMITTED) }));
        update(TaskState.TASK_STATE_WORKING);
      }
      if (step.say) made("answer", "", [part("text", step.say)], !isFirst);
      if (step.attach) {
        made("file", "the file", [part("raw", FILE.bytes, FILE.name, FILE.type)]);
        made("data", "the data", [part("data", DATA)]);
      }
      if (step.ask) {
        update(TaskState.TASK_STATE_INPUT_REQUIRED, said(QUESTION));
        return bus.finished();
      }
      if (step.fail) {
        update(TaskState.TASK_STATE_FAILED, said(FAILURE));
        return bus.finished();
      }
      isFirst = false;
    }
    update(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.cancelled.add(taskId);
  }
}

function card(url, binding) {
  return {
    name: "JavaScript 1.0",
    description: "Answers by the text",
    version: "1.2.3",
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [
      {
        id: "talk",
        name: "Talk",
        description: "Talks",
        tags: ["talk"],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    supportedInterfaces: [{ url: url + PATHS[binding], protocolBinding: binding, protocolVersion: "1.0", tenant: "" }],
    securitySchemes: {},
    securityRequirements: [],
    signatures: [],
    provider: undefined,
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
