// Asks a gateway for interactions by the SDKs, unmodified. The environment has GENWAY (its address) and GENWAY_KEY. It prints
// what each call returned as a line, and exits with 1 at the first thing that is wrong.
import assert from 'node:assert/strict';
import { GoogleGenAI } from '@google/genai';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, streamText, tool, stepCountIs } from 'ai';
import { z } from 'zod';

const { GENWAY: base, GENWAY_KEY: apiKey } = process.env;
const model = 'sandbox-text';
const weather = 'Call the tool get_weather with {"city":"Oslo"}.';

const genai = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: base } }).interactions;
const ai = createGoogleGenerativeAI({ apiKey, baseURL: `${base}/v1beta` }).interactions(model);
const options = { google: { store: false } };

const cases = {
  async 'genai, unary'() {
    const answer = await genai.create({
      model, input: 'Say hello.', system_instruction: 'Be brief.', store: false,
      generation_config: { thinking_level: 'low', thinking_summaries: 'auto' },
    });
    assert.equal(answer.status, 'completed');
    assert.ok(answer.steps.some((s) => s.type === 'thought' && s.signature), JSON.stringify(answer.steps));
    assert.ok(answer.usage.total_output_tokens > 0);
    assert.match(answer.output_text, /Say hello\..*Be brief\./s);
  },

  async 'genai, streamed'() {
    let text = '', last;
    for await (const event of await genai.create({ model, input: 'Say hello.', stream: true, store: false })) {
      if (event.event_type === 'step.delta' && event.delta.type === 'text') text += event.delta.text;
      last = event;
    }
    assert.match(text, /Say hello\./);
    assert.equal(last.event_type, 'interaction.completed');
    assert.equal(last.interaction.status, 'completed');
  },

  async 'genai, tools'() {
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
    const question = { type: 'user_input', content: [{ type: 'text', text: weather }] };
    const called = await genai.create({ model, input: [question], tools, store: false });
    assert.equal(called.status, 'requires_action');
    const call = called.steps.find((s) => s.type === 'function_call');
    assert.deepEqual(call.arguments, { city: 'Oslo' });
    const result = { type: 'function_result', call_id: call.id, name: call.name, result: 'It snows.' };
    const answer = await genai.create({ model, input: [question, ...called.steps, result], tools, store: false });
    assert.equal(answer.status, 'completed');
    assert.match(answer.output_text, /It snows\./);
  },

  async 'genai, an error'() {
    await assert.rejects(genai.create({ model: 'nothing', input: 'hi' }), (e) => e.status === 404 && /nothing/.test(e.message));
  },

  async 'genai, stored'() {
    const first = await genai.create({ model, input: 'Say hello.' });
    const stored = await genai.get(first.id);
    assert.deepEqual(stored.steps, first.steps);
    const second = await genai.create({ model, input: 'Say it again.', previous_interaction_id: first.id });
    assert.equal((await genai.get(second.id)).previous_interaction_id, first.id);
    const events = [];
    for await (const event of await genai.get(second.id, { stream: true })) events.push(event);
    const rest = [];
    for await (const event of await genai.get(second.id, { stream: true, last_event_id: events[1].event_id })) rest.push(event);
    assert.deepEqual(rest, events.slice(2));
    await genai.delete(second.id);
    await assert.rejects(genai.get(second.id), (e) => e.status === 404);
  },

  async 'genai, in the background'() {
    let answer = await genai.create({ model, input: 'Say hello.', background: true });
    while (answer.status === 'in_progress') answer = await genai.get(answer.id);
    assert.match(answer.output_text, /Say hello\./);
    const { id } = await genai.create({ model, input: 'Say hello.', background: true });
    assert.match((await genai.cancel(id)).status, /^(cancelled|completed)$/); // whichever was first
  },

  async 'ai, unary'() {
    const { text, usage, finishReason } = await generateText({ model: ai, system: 'Be brief.', prompt: 'Say hello.', providerOptions: options });
    assert.match(text, /Say hello\..*Be brief\./s);
    assert.equal(finishReason, 'stop');
    assert.ok(usage.outputTokens > 0);
  },

  async 'ai, streamed'() {
    const answer = streamText({ model: ai, prompt: 'Say hello.', providerOptions: options });
    let text = '';
    for await (const piece of answer.textStream) text += piece;
    assert.match(text, /Say hello\./);
    assert.equal(await answer.finishReason, 'stop');
  },

  async 'ai, stored'() {
    const first = await generateText({ model: ai, prompt: 'Say hello.' });
    const { interactionId } = first.providerMetadata.google;
    const second = await generateText({ model: ai, prompt: 'And then?', providerOptions: { google: { previousInteractionId: interactionId } } });
    assert.match(second.text, /And then\?/);
  },

  async 'ai, in the background'() {
    const options = { google: { background: true } };
    assert.match((await generateText({ model: ai, prompt: 'Say hello.', providerOptions: options })).text, /Say hello\./);
    const streamed = streamText({ model: ai, prompt: 'Say hello.', providerOptions: options });
    assert.match(await streamed.text, /Say hello\./);
  },

  async 'ai, tools'() {
    const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `It snows in ${city}.` }) };
    for (const ask of [generateText, streamText]) {
      const answer = await ask({ model: ai, prompt: weather, tools, stopWhen: stepCountIs(3), providerOptions: options });
      if (ask === streamText) await answer.consumeStream();
      assert.match(await answer.text, /It snows in Oslo\./);
      assert.equal((await answer.steps).length, 2);
    }
  },
};

for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (e) {
    console.log(`failed: ${name}:`, e);
    process.exitCode = 1;
  }
}
