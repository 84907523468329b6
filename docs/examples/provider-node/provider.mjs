// A provider of the Generation contract in another language: it answers every
// request with its last user text, in capitals. Point an upstream of kind
// `generation` at it.
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import { fileURLToPath } from 'node:url';

const proto = fileURLToPath(new URL('../../../proto', import.meta.url));
const definition = loader.loadSync('genway/v1/generation.proto', {
  includeDirs: [proto], keepCase: true, longs: String, enums: String, defaults: false, oneofs: true,
});
const { genway } = grpc.loadPackageDefinition(definition);

const model = { name: 'shout', display_name: 'Shout', owned_by: 'example', generates_text: true };

// lastText is what the user said last.
function lastText(request) {
  for (const message of [...(request.messages ?? [])].reverse()) {
    if (message.role !== 'ROLE_USER') continue;
    const texts = (message.parts ?? []).map((p) => p.text?.text ?? '').filter(Boolean);
    if (texts.length) return texts.join('\n');
  }
  return '';
}

// tokens is a word count; a real provider reports its tokenizer's.
const tokens = (text) => text.split(/\s+/).filter(Boolean).length;

function answer(request) {
  const said = lastText(request);
  const reply = said.toUpperCase();
  const usage = { input_tokens: tokens(said), output_tokens: tokens(reply), total_tokens: tokens(said) + tokens(reply) };
  return { id: `shout-${Date.now()}`, reply, usage };
}

function refuse(request) {
  if (lastText(request)) return null;
  return { code: grpc.status.INVALID_ARGUMENT, details: 'no user text to shout' };
}

const service = {
  GenerateText({ request }, done) {
    const error = refuse(request);
    if (error) return done(error);
    const { id, reply, usage } = answer(request);
    done(null, {
      id, model: request.model, usage,
      candidates: [{ parts: [{ text: { text: reply } }], stop_reason: 'STOP_REASON_END_TURN' }],
    });
  },

  StreamGenerateText(call) {
    const error = refuse(call.request);
    if (error) return call.emit('error', error);
    const { id, reply, usage } = answer(call.request);
    call.write({ started: { id, model: call.request.model } });
    call.write({ part_started: { part: { text: {} } } });
    for (const word of reply.split(/(?<=\s)/)) call.write({ part_delta: { text: word } });
    call.write({ part_completed: {} });
    // A stream without this is a cut stream.
    call.write({ completed: { candidates: [{ stop_reason: 'STOP_REASON_END_TURN' }], usage } });
    call.end();
  },

  GenerateImage(_, done) {
    done({ code: grpc.status.UNIMPLEMENTED, details: 'this provider draws nothing' });
  },

  CountTokens({ request }, done) {
    done(null, { input_tokens: tokens(lastText(request.request ?? {})) });
  },

  ListModels(_, done) {
    done(null, { models: [model] });
  },

  GetModel(_, done) {
    done(null, { model });
  },
};

const address = process.argv[2] ?? '127.0.0.1:9191';
const server = new grpc.Server({ 'grpc.max_receive_message_length': 128 << 20 });
server.addService(genway.v1.Generation.service, service);
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  console.log(`provider is up on ${address}`);
});
process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)));
