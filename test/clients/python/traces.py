"""Takes traces by OTLP over HTTP, with OpenTelemetry's own messages for Python.

Prints its port on the first line; once it has got as many spans as the first argument says, prints them as JSON and ends.
"""

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

SCALARS = {"string_value": str, "bool_value": bool, "int_value": int, "double_value": float}


def plain(value):
    kind = value.WhichOneof("value")
    return [plain(each) for each in value.array_value.values] if kind == "array_value" else SCALARS[kind](getattr(value, kind))


def attributes(message):
    return {each.key: plain(each.value) for each in message.attributes}


def main(wanted):
    spans = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
            request = ExportTraceServiceRequest.FromString(body)
            # Nothing is lost between the bytes and the messages: every field is one that OpenTelemetry knows.
            assert request.SerializeToString() and not unknown(request)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        spans.append(
                            {
                                "trace_id": span.trace_id.hex(),
                                "span_id": span.span_id.hex(),
                                "name": span.name,
                                "kind": span.kind,
                                "milliseconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6,
                                "status": span.status.code,
                                "scope": scope.scope.name,
                                "path": self.path,
                                "authorization": self.headers["authorization"],
                                "resource": attributes(resource.resource),
                                "attributes": attributes(span),
                            }
                        )
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    print(server.server_port, flush=True)
    while len(spans) < wanted:
        server.handle_request()
    print(json.dumps(spans))


def unknown(message):
    """Whether JSON, which leaves out what is unknown, has fewer bytes than the message came with."""
    again = type(message)()
    again.CopyFrom(message)
    again.DiscardUnknownFields()
    return again.SerializeToString() != message.SerializeToString() or not MessageToDict(message)


main(int(sys.argv[1]))
