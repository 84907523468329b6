"""An upstream with text alone: it shouts back what the user said. It has no tools, no images and no CountTokens."""
import re
import sys
import uuid

from genway.v1 import content_pb2, generation_pb2_grpc, model_pb2, stream_pb2, text_pb2, usage_pb2
from serving import Refused, invalid, page, serve, streamed, unary

MODEL = model_pb2.Model(name="shout", display_name="Shout", owned_by="example", generates_text=True)


def known(name):
    if not name:
        raise invalid("model", "a model is needed")
    if name != MODEL.name:
        raise Refused("NOT_FOUND", "MODEL_NOT_FOUND", f'the model "{name}" does not exist', "model")


def answer(request):
    known(request.model)
    if not request.messages:
        raise invalid("messages", "a conversation is needed")
    if request.extra_json:
        raise invalid("extra_json", "this upstream has no options of its own")
    if request.tools:
        raise Refused("NOT_SUPPORTED", "NO_TOOLS", "this upstream calls no tools", "tools")
    texts = [p.text.text for m in request.messages for p in m.parts]
    words = request.messages[-1].parts[0].text.text.upper().split()
    stop = text_pb2.STOP_REASON_END_TURN
    if request.HasField("max_output_tokens") and len(words) > request.max_output_tokens:
        words, stop = words[:request.max_output_tokens], text_pb2.STOP_REASON_MAX_TOKENS
    spent = len(" ".join(texts).split())  # a real upstream has a tokenizer
    return text_pb2.GenerateTextResponse(
        id=f"shout-{uuid.uuid4()}", model=request.model,
        candidates=[{"parts": [{"text": {"text": " ".join(words)}}], "stop_reason": stop}],
        usage=usage_pb2.Usage(input_tokens=spent, output_tokens=len(words), total_tokens=spent + len(words)))


class Upstream(generation_pb2_grpc.GenerationServicer):
    """What it does not override is UNIMPLEMENTED."""

    @unary
    def GenerateText(self, request, context):
        return answer(request)

    @streamed
    def StreamGenerateText(self, request, context):
        whole, event = answer(request), stream_pb2.StreamGenerateTextResponse
        candidate = whole.candidates[0]
        yield event(started=stream_pb2.TextStarted(id=whole.id, model=whole.model))
        yield event(part_started=stream_pb2.PartStarted(part=content_pb2.Part(text=content_pb2.Text())))
        for piece in re.findall(r"\s*\S+", candidate.parts[0].text.text):
            yield event(part_delta=stream_pb2.PartDelta(text=piece))
        yield event(part_completed=stream_pb2.PartCompleted())
        # A stream without this is cut.
        yield event(completed=stream_pb2.TextCompleted(candidates=[{"stop_reason": candidate.stop_reason}], usage=whole.usage))

    @unary
    def ListModels(self, request, context):
        return page([MODEL], request)

    @unary
    def GetModel(self, request, context):
        known(request.name)
        return model_pb2.GetModelResponse(model=MODEL)


if __name__ == "__main__":
    serve(Upstream(), sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9191")
