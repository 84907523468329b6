// A TypeScript client of Genway's contract: a text, a stream, a tool call, an image and an error.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type MessageSchema, Role } from "./gen/genway/v1/content_pb.js";
import { ErrorDetailSchema } from "./gen/genway/v1/error_pb.js";
import { Generation } from "./gen/genway/v1/generation_pb.js";
import { type GenerateTextResponse, GenerateTextRequestSchema } from "./gen/genway/v1/text_pb.js";

const authorize: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${process.env.GENWAY_KEY}`);
  return next(request);
};
const client = createClient(Generation, createGrpcTransport({
  baseUrl: `http://${process.env.GENWAY}`, interceptors: [authorize], defaultTimeoutMs: 60_000,
}));

const user = (text: string): MessageInitShape<typeof MessageSchema> => ({
  role: Role.USER, parts: [{ kind: { case: "text", value: { text } } }],
});

// part gives the value of the first part of an answer, which must be of a kind.
function part<K extends "text" | "toolCall">(answer: GenerateTextResponse, kind: K) {
  const found = answer.candidates[0]?.parts[0]?.kind;
  if (found?.case !== kind) throw new Error(`the answer begins with ${found?.case}, not ${kind}`);
  return found as Extract<typeof found, { case: K }>;
}

async function run() {
  const hello = create(GenerateTextRequestSchema, { model: "sandbox-text", messages: [user("Say hello.")] });
  console.log("text:", part(await client.generateText(hello), "text").value.text);

  let streamed = "";
  let complete = false;
  for await (const { payload } of client.streamGenerateText(hello)) {
    if (payload.case === "partDelta" && payload.value.delta.case === "text") streamed += payload.value.delta.value;
    complete = payload.case === "completed";
  }
  if (!complete) throw new Error("the stream was cut: it ended without completed");
  console.log("stream:", streamed);

  const parametersJson = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
  const call = part(await client.generateText({
    model: "sandbox-text", messages: [user("What is the weather in Paris?")],
    tools: [{ kind: { case: "function", value: { name: "get_weather", parametersJson } } }],
  }), "toolCall").value;
  console.log(`tool: ${call.name}(${call.arguments.value})`);

  const drawn = await client.generateImage({ model: "sandbox-image", prompt: "A red square", size: "64x64" });
  const source = drawn.images[0]?.source;
  if (source?.case === "data") console.log(`image: ${drawn.size}, ${source.value.length} bytes`);

  await client.generateText({ ...hello, model: "nothing" }).catch((error) => console.log("error:", explain(error)));
}

// explain gives what the contract says of a failed call: why, and the request to ask about.
function explain(error: unknown): string {
  const [detail] = ConnectError.from(error).findDetails(ErrorDetailSchema);
  return detail ? `${detail.reason}: ${detail.message} (request ${detail.requestId})` : String(error);
}

run().catch((error) => {
  console.error(explain(error));
  process.exitCode = 1;
});
