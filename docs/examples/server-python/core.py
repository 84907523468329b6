"""A core with only the typed contract: genway-edge in front of it serves all JSON protocols.

It repeats what the user said, calls the first tool that it is offered, and draws plain squares.
"""
import json
import os
import re
import struct
import sys
import uuid
import zlib

from genway.v1 import (content_pb2, count_pb2, generation_pb2_grpc, image_pb2, image_stream_pb2, model_pb2, stream_pb2,
                       text_pb2, tool_pb2, usage_pb2)
from serving import Refused, invalid, page, serve, streamed, unary

ADDRESS, TEXT_MODEL, IMAGE_MODEL = (sys.argv[1:] + ["127.0.0.1:9090", "parrot", "square"][len(sys.argv) - 1:])[:3]
# The keys of callers, each with its group: {"a secret": "chat"}. Without any, all are taken.
KEYS = json.loads(os.environ.get("CORE_KEYS", "{}"))
GROUPS = {"chat_completions": "chat", "responses": "chat", "images": "chat", "messages": "messages",
          "generate_content": "generatecontent", "": "internal"}
MODELS = sorted([model_pb2.Model(name=TEXT_MODEL, owned_by="example", generates_text=True),
                 model_pb2.Model(name=IMAGE_MODEL, owned_by="example", generates_images=True)], key=lambda m: m.name)


def check(context):
    """Fails unless the caller's key is of the group that its protocol belongs to. Direct callers have none."""
    metadata = dict(context.invocation_metadata())
    group = GROUPS.get(metadata.get("genway-protocol", ""))
    key = metadata.get("authorization", "").removeprefix("Bearer ")
    if KEYS and key not in KEYS:
        raise Refused("UNAUTHENTICATED", "WRONG_KEY", "the key is not known")
    if KEYS and KEYS[key] != group:
        raise Refused("PERMISSION_DENIED", "WRONG_GROUP", f"the key is of the group {KEYS[key]}")


def known(name, *models):
    if not name:
        raise invalid("model", "a model is needed")
    if name in models:
        return
    if name in (TEXT_MODEL, IMAGE_MODEL):
        raise invalid("model", f'the model "{name}" does not do this')
    raise Refused("NOT_FOUND", "MODEL_NOT_FOUND", f'the model "{name}" does not exist', "model")


def now(message):
    message.create_time.GetCurrentTime()
    return message


def words(text):
    """Cuts a text where tokens might end; a real core has a tokenizer."""
    return re.findall(r"\s*\S+", text)


def heard(parts):
    return "\n".join(filter(None, (p.text.text or heard(p.tool_result.parts) for p in parts)))


def usage(request, output):
    parts = [p for m in request.messages for p in m.parts]
    spent = len(words(heard(parts))) + 100 * sum(p.HasField("image") for p in parts)
    return usage_pb2.Usage(input_tokens=spent, output_tokens=output, total_tokens=spent + output)


def answer(request):
    """Returns the answer, and the pieces that a stream makes of it."""
    known(request.model, TEXT_MODEL)
    if not request.messages:
        raise invalid("messages", "a conversation is needed")
    if request.extra_json:
        raise invalid("extra_json", "this core has no options of its own")
    last = request.messages[-1].parts
    functions = [t.function for t in request.tools if t.HasField("function")]
    functions = [f for f in functions if f.name in request.tool_choice.names] or functions
    whole = now(text_pb2.GenerateTextResponse(id=f"python-{uuid.uuid4()}", model=request.model))
    candidate = whole.candidates.add(stop_reason=text_pb2.STOP_REASON_END_TURN)
    answered = any(p.HasField("tool_result") for p in last)
    if functions and not answered and request.tool_choice.mode != tool_pb2.ToolChoice.MODE_NONE:
        call = candidate.parts.add().tool_call
        call.id, call.name, call.arguments_json = f"call_{uuid.uuid4().hex[:8]}", functions[0].name, "{}"
        candidate.stop_reason = text_pb2.STOP_REASON_TOOL_CALL
        pieces = ["{}"]
    else:
        seen = [f" [{p.image.mime_type}, {len(p.image.data)} bytes]" for p in last if p.image.data]
        pieces = words(heard(last) + "".join(seen))
        if not pieces:
            raise invalid(f"messages[{len(request.messages) - 1}].parts", "nothing was said")
        if request.HasField("max_output_tokens") and len(pieces) > request.max_output_tokens:
            pieces = pieces[:max(request.max_output_tokens, 0)]
            candidate.stop_reason = text_pb2.STOP_REASON_MAX_TOKENS
        candidate.parts.add().text.text = "".join(pieces)
    whole.usage.CopyFrom(usage(request, len(pieces)))
    return whole, pieces


def draw(width, height, prompt):
    """Returns a PNG of one colour, by the prompt (PNG specification, section 5)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = b"\0" + bytes([zlib.crc32(prompt.encode()) & 255]) * (3 * width)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b"")


def images(request):
    known(request.model, IMAGE_MODEL)
    if not request.prompt:
        raise invalid("prompt", "a prompt is needed")
    size = request.size if request.size not in ("", "auto") else "1024x1024"
    found = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", size)
    if not found or int(found[1]) * int(found[2]) > 1 << 22:
        raise invalid("size", "it is not WIDTHxHEIGHT of at most 4 million pixels")
    count = request.count if request.HasField("count") else 1
    if not 1 <= count <= 10:
        raise invalid("count", "it is not 1 to 10")
    spent, output = len(words(request.prompt)), 100 * count
    whole = now(image_pb2.GenerateImageResponse(
        background="opaque", output_format="png", size=size,
        quality=request.quality if request.quality not in ("", "auto") else "low",
        usage=usage_pb2.Usage(input_tokens=spent, output_tokens=output, total_tokens=spent + output, input_text_tokens=spent,
                              input_image_tokens=0, output_text_tokens=0, output_image_tokens=output)))
    for _ in range(count):
        whole.images.add(data=draw(int(found[1]), int(found[2]), request.prompt),
                         generation_id=f"image-{uuid.uuid4()}", model=request.model, size=size)
    return whole


class Core(generation_pb2_grpc.GenerationServicer):
    @unary
    def GenerateText(self, request, context):
        check(context)
        return answer(request)[0]

    @streamed
    def StreamGenerateText(self, request, context):
        check(context)
        whole, pieces = answer(request)
        event, candidate = stream_pb2.StreamGenerateTextResponse, whole.candidates[0]
        yield event(started=stream_pb2.TextStarted(
            id=whole.id, model=whole.model, create_time=whole.create_time, usage=usage(request, 0)))
        part, delta = candidate.parts[0], "text"
        if part.HasField("tool_call"):
            part, delta = content_pb2.Part(tool_call={"id": part.tool_call.id, "name": part.tool_call.name}), "arguments_json"
        else:
            part = content_pb2.Part(text=content_pb2.Text())
        yield event(part_started=stream_pb2.PartStarted(part=part))
        for piece in pieces:
            yield event(part_delta=stream_pb2.PartDelta(**{delta: piece}))
        yield event(part_completed=stream_pb2.PartCompleted())
        # A stream without this is cut.
        yield event(completed=stream_pb2.TextCompleted(candidates=[{"stop_reason": candidate.stop_reason}], usage=whole.usage))

    @unary
    def GenerateImage(self, request, context):
        check(context)
        return images(request)

    @streamed
    def StreamGenerateImage(self, request, context):
        check(context)
        whole, event = images(request), image_stream_pb2.StreamGenerateImageResponse
        yield event(started=image_stream_pb2.ImageStarted(create_time=whole.create_time))
        for n, image in enumerate(whole.images):
            yield event(image=image_stream_pb2.FinishedImage(
                image_index=n, image=image, create_time=whole.create_time, background=whole.background,
                output_format=whole.output_format, quality=whole.quality))
        yield event(completed=image_stream_pb2.ImageCompleted(
            count=len(whole.images), size=whole.size, quality=whole.quality, usage=whole.usage))

    @unary
    def CountTokens(self, request, context):
        check(context)
        known(request.request.model, TEXT_MODEL)
        return count_pb2.CountTokensResponse(input_tokens=usage(request.request, 0).input_tokens)

    @unary
    def ListModels(self, request, context):
        check(context)
        return page(MODELS, request)

    @unary
    def GetModel(self, request, context):
        check(context)
        known(request.name, TEXT_MODEL, IMAGE_MODEL)
        return model_pb2.GetModelResponse(model=next(m for m in MODELS if m.name == request.name))


if __name__ == "__main__":
    serve(Core(), ADDRESS)
