// A core in another language, with only the typed contract: genway-edge in front of it serves
// all five JSON protocols. It repeats what the user said, calls the first tool that it is
// offered, and draws plain squares. It knows no JSON protocol and never reads `wire`.
import { crc32, deflateSync } from 'node:zlib';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import protobuf from 'protobufjs';

const [address = '127.0.0.1:9090', textModel = 'parrot', imageModel = 'square'] = process.argv.slice(2);
// The keys of callers, each with its group: {"a secret": "chat"}. Without any, all are taken.
const keys = JSON.parse(process.env.CORE_KEYS ?? '{}');
const groups = { chat_completions: 'chat', responses: 'chat', images: 'chat', messages: 'messages', generate_content: 'generatecontent' };

const proto = fileURLToPath(new URL('../../../proto', import.meta.url));
const options = { includeDirs: [proto], keepCase: true, longs: String, enums: String, defaults: false, oneofs: true };
const { genway } = grpc.loadPackageDefinition(loader.loadSync('genway/v1/generation.proto', options));

// A failed call has a genway.v1.ErrorDetail in the details of its status (google.rpc.Status).
const root = new protobuf.Root();
root.resolvePath = (_, path) => (path.startsWith('/') ? path : `${proto}/${path}`);
root.loadSync('genway/v1/error.proto', { keepCase: true });
const ErrorDetail = root.lookupType('genway.v1.ErrorDetail');
const Status = protobuf.parse(`syntax = "proto3"; package google.rpc;
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }`).root.lookupType('google.rpc.Status');

function failure(code, kind, reason, message, param = '') {
  const detail = ErrorDetail.encode(ErrorDetail.fromObject({ kind: `ERROR_KIND_${kind}`, reason, message, param })).finish();
  const details = [{ typeUrl: 'type.googleapis.com/genway.v1.ErrorDetail', value: detail }];
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(Status.encode({ code, message, details }).finish()));
  return Object.assign(new Error(message), { code, details: message, metadata });
}
const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, UNAUTHENTICATED } = grpc.status;
const invalid = (param, message) => failure(INVALID_ARGUMENT, 'INVALID_REQUEST', 'INVALID', `${param}: ${message}`, param);

// check throws unless the caller's key is of the group that its protocol belongs to.
function check({ metadata }) {
  const key = String(metadata.get('authorization')[0] ?? '').replace(/^Bearer /, '');
  const group = Object.keys(keys).length ? keys[key] : groups[metadata.get('genway-protocol')[0]];
  if (!group) throw failure(UNAUTHENTICATED, 'UNAUTHENTICATED', 'WRONG_KEY', 'the key is not known');
  if (group !== groups[metadata.get('genway-protocol')[0]]) {
    throw failure(PERMISSION_DENIED, 'PERMISSION_DENIED', 'WRONG_GROUP', `the key is of the group ${group}`);
  }
}

function known(model, ...models) {
  if (models.includes(model)) return;
  if (model === textModel || model === imageModel) throw invalid('model', `the model "${model}" does not do this`);
  throw failure(NOT_FOUND, 'NOT_FOUND', 'MODEL_NOT_FOUND', `the model "${model}" does not exist`, 'model');
}

// words cuts a text where tokens might end; a real core has a tokenizer.
const words = (text) => text.match(/\s*\S+/g) ?? [];
const textOf = (parts = []) => parts.map((p) => p.text?.text ?? (p.tool_result ? textOf(p.tool_result.parts) : '')).filter(Boolean).join('\n');

// usageOf counts the texts and images of a request, and the pieces of an answer.
function usageOf(request, output) {
  const parts = (request.messages ?? []).flatMap((m) => m.parts ?? []);
  const input = words(textOf(parts)).length + 100 * parts.filter((p) => p.image).length;
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

// answer gives the parts of an answer, each with the deltas that a stream makes it of.
function answer(call) {
  const request = call.request;
  check(call);
  known(request.model, textModel);
  const messages = request.messages ?? [];
  if (!messages.length) throw invalid('messages', 'a conversation is needed');
  const id = `node-${randomUUID()}`;
  const last = messages.at(-1);
  const tool = (request.tools ?? []).find((t) => t.function)?.function;
  const answered = (last.parts ?? []).some((p) => p.tool_result);
  if (tool && !answered && request.tool_choice?.mode !== 'MODE_NONE') {
    const call = { id: `call_${randomUUID().slice(0, 8)}`, name: tool.name };
    const open = { tool_call: call };
    return { id, open, deltas: [{ arguments_json: '{}' }], parts: [{ tool_call: { ...call, arguments_json: '{}' } }], stop: 'STOP_REASON_TOOL_CALL', usage: usageOf(request, 1) };
  }
  let text = textOf(last.parts);
  for (const part of last.parts ?? []) {
    if (part.image?.data) text += ` [${part.image.media_type}, ${part.image.data.length} bytes]`;
  }
  let pieces = words(text);
  if (!pieces.length) throw invalid(`messages[${messages.length - 1}].parts`, 'nothing was said');
  const most = Number(request.max_output_tokens ?? Infinity);
  const stop = pieces.length > most ? 'STOP_REASON_MAX_TOKENS' : 'STOP_REASON_END_TURN';
  pieces = pieces.slice(0, most);
  return { id, open: { text: {} }, deltas: pieces.map((text) => ({ text })), parts: [{ text: { text: pieces.join('') } }], stop, usage: usageOf(request, pieces.length) };
}

// draw gives a PNG of one colour, by the prompt (PNG specification, section 5).
function draw(width, height, prompt) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    size.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]); // 8 bits, RGB
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const rows = Buffer.alloc(height * (1 + 3 * width), crc32(prompt) & 0xff);
  for (let y = 0; y < height; y++) rows[y * (1 + 3 * width)] = 0; // no filter
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

function images(call) {
  const { model, prompt, size: wanted, count = 1, quality } = call.request;
  check(call);
  known(model, imageModel);
  if (!prompt) throw invalid('prompt', 'a prompt is needed');
  const size = !wanted || wanted === 'auto' ? '1024x1024' : wanted;
  const [width, height] = size.split('x').map(Number);
  if (!(width > 0 && height > 0 && width * height <= 1 << 22)) throw invalid('size', 'it is not WIDTHxHEIGHT of at most 4 million pixels');
  const list = Array.from({ length: count }, () => ({ data: draw(width, height, prompt), generation_id: `image-${randomUUID()}`, model, size }));
  const [input, output] = [words(prompt).length, 100 * count];
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output, input_text_tokens: input, input_image_tokens: 0, output_text_tokens: 0, output_image_tokens: output };
  return { list, usage, of: { background: 'opaque', output_format: 'png', quality: quality && quality !== 'auto' ? quality : 'low', size } };
}

const now = () => ({ seconds: Math.floor(Date.now() / 1000), nanos: 0 });
const models = [{ name: textModel, owned_by: 'example', generates_text: true }, { name: imageModel, owned_by: 'example', generates_images: true }];

// unary and streamed turn what a handler throws into the call's status.
const unary = (handler) => (call, done) => {
  try { done(null, handler(call)); } catch (error) { done(error); }
};
const streamed = (handler) => (call) => {
  try {
    for (const event of handler(call)) call.write(event);
    call.end();
  } catch (error) { call.emit('error', error); }
};

const service = {
  GenerateText: unary((call) => {
    const { id, parts, stop, usage } = answer(call);
    return { id, model: call.request.model, create_time: now(), usage, candidates: [{ parts, stop_reason: stop }] };
  }),
  StreamGenerateText: streamed((call) => {
    const { id, open, deltas, stop, usage } = answer(call);
    return [
      { started: { id, model: call.request.model, create_time: now(), usage: { ...usage, output_tokens: 0 } } },
      { part_started: { part: open } },
      ...deltas.map((delta) => ({ part_delta: delta })),
      { part_completed: {} },
      { completed: { candidates: [{ stop_reason: stop }], usage } }, // a stream without it is cut
    ];
  }),
  GenerateImage: unary((call) => {
    const { list, usage, of } = images(call);
    return { create_time: now(), images: list, usage, ...of };
  }),
  StreamGenerateImage: streamed((call) => {
    const { list, usage, of: { size, ...of } } = images(call);
    const finished = list.map((image, i) => ({ image: { image_index: i, image, create_time: now(), ...of } }));
    return [{ started: { create_time: now() } }, ...finished, { completed: { count: list.length, size, quality: of.quality, usage } }];
  }),
  CountTokens: unary((call) => {
    check(call);
    known(call.request.request.model, textModel);
    return { input_tokens: usageOf(call.request.request, 0).input_tokens };
  }),
  ListModels: unary((call) => (check(call), { models })),
  GetModel: unary((call) => (check(call), known(call.request.name, textModel, imageModel), { model: models.find((m) => m.name === call.request.name) })),
  CheckAccess: unary((call) => (check(call), {})),
};

// An edge asks whether the core is ready (grpc.health.v1): 1 is SERVING.
const raw = { requestStream: false, responseStream: false, requestDeserialize: (bytes) => bytes };
const health = { Check: { path: '/grpc.health.v1.Health/Check', ...raw, responseSerialize: () => Buffer.from([8, 1]) } };

const server = new grpc.Server({ 'grpc.max_receive_message_length': 128 << 20, 'grpc.max_send_message_length': 128 << 20 });
server.addService(genway.v1.Generation.service, service);
server.addService(health, { Check: unary(() => ({})) });
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.error(JSON.stringify({ msg: 'core is up', grpc: address.replace(/:0$/, `:${port}`) }));
});
process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)));
