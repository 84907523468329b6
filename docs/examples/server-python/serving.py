"""What each server of the contract in Python needs: refusals, pages of models, and the server itself."""
import signal
import sys
from concurrent import futures

import grpc
from genway.v1 import error_pb2, generation_pb2_grpc, model_pb2

MESSAGE = 128 << 20  # images exceed gRPC's default of 4 MiB
KINDS = {  # the kind of a refusal, and the code of gRPC for it
    "INVALID_REQUEST": grpc.StatusCode.INVALID_ARGUMENT, "UNAUTHENTICATED": grpc.StatusCode.UNAUTHENTICATED,
    "PERMISSION_DENIED": grpc.StatusCode.PERMISSION_DENIED, "NOT_FOUND": grpc.StatusCode.NOT_FOUND,
    "NOT_SUPPORTED": grpc.StatusCode.UNIMPLEMENTED,
}


class Refused(Exception):
    """A failed call: what genway.v1.ErrorDetail says of it."""

    def __init__(self, kind, reason, message, param=""):
        super().__init__(message)
        self.code = KINDS[kind]
        self.detail = error_pb2.ErrorDetail(
            kind=f"ERROR_KIND_{kind}", reason=reason, message=message, param=param)

    def abort(self, context):
        """Ends the call with a google.rpc.Status that has the detail: code, message, and details as Any."""
        message = str(self).encode()
        detail = field(1, b"type.googleapis.com/genway.v1.ErrorDetail") + field(2, self.detail.SerializeToString())
        status = bytes([8, self.code.value[0]]) + field(2, message) + field(3, detail)
        context.set_trailing_metadata([("grpc-status-details-bin", status)])
        context.abort(self.code, str(self))


def invalid(param, message):
    return Refused("INVALID_REQUEST", "INVALID_MEMBER", f"{param}: {message}", param)


def field(number, value):
    """Returns a field of bytes in the encoding of Protocol Buffers."""
    size, length = len(value), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def unary(method):
    def call(self, request, context):
        try:
            return method(self, request, context)
        except Refused as refused:
            refused.abort(context)
    return call


def streamed(method):
    def call(self, request, context):
        try:
            yield from method(self, request, context)
        except Refused as refused:
            refused.abort(context)
    return call


def page(models, request):
    """Returns a page of models, which are ordered by name. Its token is the number of the next one."""
    if request.page_size < 0:
        raise invalid("page_size", "it is negative")
    token = request.page_token or "0"
    if not (token.isascii() and token.isdigit() and len(token) < 10 and int(token) < len(models)):
        raise invalid("page_token", "it is not one that this server has returned")
    start = int(token)
    end = start + (request.page_size or 1000)
    return model_pb2.ListModelsResponse(
        models=models[start:end], next_page_token=str(end) if end < len(models) else "")


def serve(servicer, address):
    """Serves until SIGTERM, and says on which port."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64), options=[
        ("grpc.max_receive_message_length", MESSAGE), ("grpc.max_send_message_length", MESSAGE)])
    generation_pb2_grpc.add_GenerationServicer_to_server(servicer, server)
    port = server.add_insecure_port(address)
    server.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=5))
    print(f'{{"msg": "core is up", "grpc": "{address.rpartition(":")[0]}:{port}"}}', file=sys.stderr, flush=True)
    server.wait_for_termination()
