"""A Python client of Genway's contract: a text, a stream, a tool call, an image and an error."""
import os
import sys

import grpc
from genway.v1 import content_pb2, error_pb2, generation_pb2_grpc, image_pb2, text_pb2, tool_pb2

KEY = [("authorization", "Bearer " + os.environ["GENWAY_KEY"])]
TIMEOUT = 60
IMAGES = [("grpc.max_receive_message_length", 64 << 20)]  # they exceed gRPC's 4 MiB


def user(text):
    part = content_pb2.Part(text=content_pb2.Text(text=text))
    return content_pb2.Message(role=content_pb2.ROLE_USER, parts=[part])


def fields(message):
    """Yields the fields of a message of Protocol Buffers: their numbers and values."""
    def number(at):
        value = shift = 0
        while True:
            value, shift, at = value | (message[at] & 127) << shift, shift + 7, at + 1
            if message[at - 1] < 128:
                return value, at
    at = 0
    while at < len(message):
        tag, at = number(at)
        value, at = number(at)
        if tag & 7 == 2:
            value, at = message[at:at + value], at + value
        yield tag >> 3, value


def explain(error):
    """Returns what the contract says of a failed call: why, and the request to ask about. The trailer is a
    google.rpc.Status, whose field 3 is the details, each a type and a value."""
    trailers = dict(error.trailing_metadata() or ())
    for detail in (value for field, value in fields(trailers.get("grpc-status-details-bin", b"")) if field == 3):
        kind, value = dict(fields(detail))[1], dict(fields(detail)).get(2, b"")
        if kind.endswith(b"/genway.v1.ErrorDetail"):
            found = error_pb2.ErrorDetail.FromString(value)
            return f"{found.reason}: {found.message} (request {found.request_id})"
    return f"{error.code().name}: {error.details()}"


def run(client):
    hello = text_pb2.GenerateTextRequest(model="sandbox-text", messages=[user("Say hello.")])
    answer = client.GenerateText(hello, metadata=KEY, timeout=TIMEOUT)
    print("text:", answer.candidates[0].parts[0].text.text)

    print("stream: ", end="")
    complete = False
    for event in client.StreamGenerateText(hello, metadata=KEY, timeout=TIMEOUT):
        print(event.part_delta.text, end="", flush=True)
        complete = event.HasField("completed")
    print()
    if not complete:
        raise EOFError("the stream was cut: it ended without completed")

    schema = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}'
    tool = tool_pb2.Tool(function=tool_pb2.FunctionTool(name="get_weather", parameters_json=schema))
    weather = text_pb2.GenerateTextRequest(
        model="sandbox-text", messages=[user("What is the weather in Paris?")], tools=[tool])
    call = client.GenerateText(weather, metadata=KEY, timeout=TIMEOUT).candidates[0].parts[0].tool_call
    print(f"tool: {call.name}({call.arguments_json})")

    square = image_pb2.GenerateImageRequest(model="sandbox-image", prompt="A red square", size="64x64")
    drawn = client.GenerateImage(square, metadata=KEY, timeout=TIMEOUT)
    print(f"image: {drawn.size}, {len(drawn.images[0].data)} bytes")

    try:
        hello.model = "nothing"
        client.GenerateText(hello, metadata=KEY, timeout=TIMEOUT)
    except grpc.RpcError as error:
        print("error:", explain(error))


with grpc.insecure_channel(os.environ["GENWAY"], options=IMAGES) as channel:
    try:
        run(generation_pb2_grpc.GenerationStub(channel))
    except grpc.RpcError as error:
        sys.exit(explain(error))
    except EOFError as error:
        sys.exit(str(error))
