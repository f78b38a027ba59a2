// An outside judge of the OpenAI door: the Vercel AI SDK, with its provider for servers that speak OpenAI's API.
//
//     node ai_sdk.cjs URL MODEL...
//
// The arguments and the agents are those of client.py.

const assert = require("node:assert/strict");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { generateText, streamText } = require("ai");

const HALF = "10 ";
const COUNTED = Array.from({ length: 20 }, (_, at) => `${at + 1} `).join("");

async function main(baseURL, ...models) {
  const jackfield = createOpenAICompatible({ name: "jackfield", baseURL, apiKey: "sk-xxx", includeUsage: true });
  for (const name of models) {
    const model = jackfield(name);
    const said = await generateText({ model, prompt: "hello" });
    assert.equal(said.text, "Hello, world");
    assert.equal(said.finishReason, "stop");

    let text = "";
    for await (const piece of streamText({ model, prompt: "count" }).textStream) {
      text += piece;
      // The second half comes only now: the first one has been streamed.
      if (text.endsWith(HALF) && text.split(HALF).length === 2) {
        assert.equal((await generateText({ model, prompt: "release" })).text, "released");
      }
    }
    assert.equal(text, COUNTED);

    const messages = [{ role: "user", content: "ask" }];
    const asked = await generateText({ model, messages });
    assert.equal(asked.text, "Which colour?");
    messages.push({ role: "assistant", content: asked.text }, { role: "user", content: "blue" });
    assert.equal((await generateText({ model, messages })).text, "You said: blue");

    const refused = generateText({ model: jackfield("nobody"), prompt: "x", maxRetries: 0 });
    const error = await refused.then(() => assert.fail("refused"), (error) => error);
    assert.equal(error.statusCode, 404);
    assert.match(error.message, /no agent "nobody"/);
    console.log(`${name}: text, streams, questions and errors are fine`);
  }
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
