import { fromBinary, toBinary, type DescMessage, type DescService, type Message } from "@bufbuild/protobuf";
import type { ServiceDefinition } from "@grpc/grpc-js";

/** A protobuf-es service in the form that grpc-js expects. Unknown fields are dropped: no message is forwarded. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: method.methodKind === "bidi_streaming" || method.methodKind === "client_streaming",
        responseStream: method.methodKind === "bidi_streaming" || method.methodKind === "server_streaming",
        requestSerialize: encodeWith(method.input),
        requestDeserialize: decodeWith(method.input),
        responseSerialize: encodeWith(method.output),
        responseDeserialize: decodeWith(method.output),
      },
    ]),
  );
}

function encodeWith(schema: DescMessage) {
  return (message: Message): Buffer => {
    const bytes = toBinary(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function decodeWith(schema: DescMessage) {
  return (bytes: Buffer): Message => fromBinary(schema, bytes, { readUnknownFields: false });
}
