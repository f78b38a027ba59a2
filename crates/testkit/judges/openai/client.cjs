// An outside judge of the OpenAI door: OpenAI's own client for Node.
//
//     node client.cjs URL MODEL...
//
// The arguments and the agents are those of client.py.

const assert = require("node:assert/strict");
const OpenAI = require("openai");

const LIMIT = 60_000;
const HALF = "10 ";
const COUNTED = Array.from({ length: 20 }, (_, at) => `${at + 1} `).join("");
const user = (content) => ({ role: "user", content });

async function chats(client, model) {
  const create = (body) => client.chat.completions.create({ model, ...body });
  const said = await create({ messages: [user("hello")] });
  assert.equal(said.choices[0].message.content, "Hello, world");
  assert.equal(said.choices[0].finish_reason, "stop");

  let text = "";
  const stream = await create({ messages: [user("count")], stream: true });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    // The second half comes only now: the first one has been streamed.
    if (text.endsWith(HALF) && text.split(HALF).length === 2) {
      const released = await create({ messages: [user("release")] });
      assert.equal(released.choices[0].message.content, "released");
    }
  }
  assert.equal(text, COUNTED);

  const talk = [user("ask")];
  const asked = await create({ messages: talk });
  assert.equal(asked.choices[0].message.content, "Which colour?");
  talk.push({ role: "assistant", content: asked.choices[0].message.content }, user("blue"));
  const answered = await create({ messages: talk });
  assert.equal(answered.choices[0].message.content, "You said: blue");

  const working = await create({ messages: [user("work")], stream: true });
  for await (const chunk of working) {
    if (chunk.choices[0]?.delta?.content) break;
  }
}

async function responses(client, model) {
  const create = (body) => client.responses.create({ model, ...body });
  const first = await create({ input: "hello" });
  assert.equal(first.status, "completed");
  assert.equal(first.output_text, "Hello, world");
  const second = await create({ input: "blue", previous_response_id: first.id });
  assert.equal(second.output_text, "You said: blue");

  const whole = await client.responses.stream({ model, input: "hello" }).finalResponse();
  assert.equal(whole.output_text, "Hello, world");

  const asked = await create({ input: "ask" });
  assert.equal(asked.output_text, "Which colour?");
  const answered = await create({ input: "green", previous_response_id: asked.id });
  assert.equal(answered.output_text, "You said: green");

  // The connection is lost in the middle, and the rest is read from the event that was seen last.
  let text = "";
  let seen, id, last;
  for await (const event of await create({ input: "count", background: true, stream: true })) {
    id ??= event.response.id;
    seen = event.sequence_number;
    if (event.type === "response.output_text.delta") text += event.delta;
    if (text.endsWith(HALF)) break;
  }
  assert.equal((await client.responses.retrieve(id)).status, "in_progress");
  assert.equal((await create({ input: "release" })).output_text, "released");
  const rest = await client.responses.retrieve(id, { stream: true, starting_after: seen });
  for await (const event of rest) {
    assert.ok(event.sequence_number > seen);
    if (event.type === "response.output_text.delta") text += event.delta;
    last = event;
  }
  assert.equal(last.type, "response.completed");
  assert.equal(text, COUNTED);

  const working = await create({ input: "work", background: true });
  assert.equal((await client.responses.cancel(working.id)).status, "cancelled");
}

async function refusals(client, model) {
  const refused = (body) => client.chat.completions.create(body).then(() => assert.fail("refused"), (error) => error);
  const unknown = await refused({ model: "nobody", messages: [user("x")] });
  assert.ok(unknown instanceof OpenAI.NotFoundError);
  assert.equal(unknown.param, "model");
  const twice = await refused({ model, messages: [user("x")], n: 2 });
  assert.ok(twice instanceof OpenAI.BadRequestError);
  assert.equal(twice.param, "n");
}

async function main(baseURL, ...models) {
  const client = new OpenAI({ baseURL, apiKey: "sk-xxx", timeout: LIMIT });
  for (const model of models) {
    await chats(client, model);
    await responses(client, `jackfield/${model}`);
    await refusals(client, model);
    console.log(`${model}: chats, responses and errors are fine`);
  }
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
