import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createProcessingRequestReader } from "../../../extproc/processing-request.ts";
import * as reply from "../../../extproc/reply.ts";
import {
  HeaderValueOption_HeaderAppendAction as AppendAction,
  MetadataSchema,
} from "../../../runtime/gen/envoy/config/core/v3/base_pb.js";
import {
  ProcessingMode_BodySendMode as BodyMode,
  ProcessingMode_HeaderSendMode as HeaderMode,
} from "../../../runtime/gen/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js";
import {
  CommonResponse_ResponseStatus as ResponseStatus,
  ProcessingRequestSchema,
  ProcessingResponseSchema,
} from "../../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { FRAME_HEADER_BYTES } from "../../../runtime/grpc-frame.ts";

/** Of BodySendMode; this version of the schema does not have it yet. */
const FULL_DUPLEX_STREAMED = 4;

const readProcessingRequest = createProcessingRequestReader();

/** The hand-written reader and writer of ext_proc messages, held against Envoy's own schema. */

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,60}$/);
const value = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: "binary", maxLength: 300 }));
const headers = fc.dictionary(name, value, { maxKeys: 12, noNullPrototype: true });
const body = fc.uint8Array({ maxLength: 70_000 }).map((bytes) => Buffer.from(bytes));
const bodyOrUnchanged = fc.oneof(body, fc.constant("unchanged" as const));
const removed = fc.array(name, { maxLength: 20 });

function decode({ frame, rest }: reply.Reply) {
  const message = Buffer.concat([frame, ...(rest === null ? [] : [rest])]);
  expect(message.readUInt8(0)).toBe(0);
  expect(message.readUInt32BE(1)).toBe(message.length - FRAME_HEADER_BYTES);
  const { $typeName: _, ...decoded } = fromBinary(ProcessingResponseSchema, new Uint8Array(message.subarray(FRAME_HEADER_BYTES)));
  return decoded;
}

function schema(init: MessageInitShape<typeof ProcessingResponseSchema>) {
  // By way of bytes, so that what is absent reads as what is empty.
  const bytes = toBinary(ProcessingResponseSchema, create(ProcessingResponseSchema, init));
  const { $typeName: _, ...decoded } = fromBinary(ProcessingResponseSchema, bytes);
  return decoded;
}

/** As a set: the order of headers of different names means nothing. */
function mutation(set: Record<string, string>, remove: readonly string[]) {
  if (Object.keys(set).length === 0 && remove.length === 0) return undefined;
  return {
    setHeaders: Object.entries(set)
      .reverse()
      .map(([key, text]) => ({
        header: { key, rawValue: Buffer.from(text) },
        appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      })),
    removeHeaders: [...remove].reverse(),
  };
}

function bodyMutation(bytes: Buffer | "unchanged") {
  if (bytes === "unchanged") return undefined;
  if (bytes.length === 0) return { mutation: { case: "clearBody", value: true } } as const;
  return { mutation: { case: "body", value: bytes } } as const;
}

const withLength = (bytes: Buffer | "unchanged", set: Record<string, string>) =>
  bytes === "unchanged" ? set : { ...set, "content-length": String(bytes.length) };

test("a request that continues is readable with Envoy's schema", () => {
  fc.assert(
    fc.property(bodyOrUnchanged, headers, removed, (bytes, set, remove) => {
      expect(decode(reply.forwardRequest(bytes, { set, remove }))).toEqual(
        schema({
          response: {
            case: "requestBody",
            value: {
              response: {
                headerMutation: mutation(withLength(bytes, set), remove),
                bodyMutation: bodyMutation(bytes),
                clearRouteCache: true,
              },
            },
          },
        }),
      );
    }),
  );
});

test("the request of one attempt is readable with Envoy's schema", () => {
  fc.assert(
    fc.property(bodyOrUnchanged, headers, removed, (bytes, set, remove) => {
      expect(decode(reply.replaceRequest(bytes, { set, remove }))).toEqual(
        schema({
          response: {
            case: "requestHeaders",
            value: {
              response: {
                status: bytes === "unchanged" ? ResponseStatus.CONTINUE : ResponseStatus.CONTINUE_AND_REPLACE,
                headerMutation: mutation(set, remove),
                bodyMutation: bodyMutation(bytes),
                clearRouteCache: true,
              },
            },
          },
        }),
      );
    }),
  );
});

test("a complete response, a chunk and response headers are readable with Envoy's schema", () => {
  fc.assert(
    fc.property(bodyOrUnchanged, headers, removed, (bytes, set, remove) => {
      expect(decode(reply.finishResponse(bytes, { set, remove }))).toEqual(
        schema({
          response: {
            case: "responseBody",
            value: {
              response: { headerMutation: mutation(withLength(bytes, set), remove), bodyMutation: bodyMutation(bytes) },
            },
          },
        }),
      );
      const responseHeaders = {
        case: "responseHeaders",
        value: { response: { headerMutation: mutation(set, remove) } },
      } as const;
      expect(decode(reply.passResponse({ set, remove }))).toEqual(schema({ response: responseHeaders }));
      const overridden = (responseModes: object) => ({
        ...schema({ response: responseHeaders }),
        modeOverride: expect.objectContaining({
          requestHeaderMode: HeaderMode.SEND,
          requestBodyMode: BodyMode.BUFFERED,
          requestTrailerMode: HeaderMode.SKIP,
          responseHeaderMode: HeaderMode.SEND,
          ...responseModes,
        }),
      });
      expect(decode(reply.awaitResponseBody({ set, remove }))).toEqual(
        overridden({ responseBodyMode: BodyMode.BUFFERED, responseTrailerMode: HeaderMode.SEND }),
      );
      expect(decode(reply.streamResponseBody({ set, remove }))).toEqual(
        overridden({ responseBodyMode: FULL_DUPLEX_STREAMED, responseTrailerMode: HeaderMode.SEND }),
      );
    }),
  );
});

test("a piece of a streamed response is readable with Envoy's schema", () => {
  fc.assert(
    fc.property(body, fc.boolean(), (bytes, isEnd) => {
      const { response } = decode(reply.streamChunk(bytes, isEnd));
      if (response.case !== "responseBody") throw new Error(`Envoy would read ${response.case}`);
      const mutation = response.value.response?.bodyMutation;
      // BodyMutation: `streamed_response` 3, which this version of the schema does not have yet.
      expect(mutation?.$unknown).toHaveLength(1);
      const [streamed] = mutation?.$unknown ?? [];
      expect(streamed).toMatchObject({ no: 3, wireType: WireType.LengthDelimited });
      const reader = new BinaryReader(new BinaryReader(streamed?.data ?? new Uint8Array()).bytes());
      const read: Record<number, unknown> = {};
      while (reader.pos < reader.len) {
        const [field] = reader.tag();
        read[field] = field === 1 ? Buffer.from(reader.bytes()) : reader.bool();
      }
      expect(read).toEqual({ ...(bytes.length > 0 ? { 1: bytes } : {}), ...(isEnd ? { 2: true } : {}) });
    }),
  );
  expect(decode(reply.dropTrailers([]))).toEqual(schema({ response: { case: "responseTrailers", value: {} } }));
  const headerMutation = { removeHeaders: ["x-internal"] };
  expect(decode(reply.dropTrailers(["x-internal"]))).toEqual(
    schema({ response: { case: "responseTrailers", value: { headerMutation } } }),
  );
  expect(decode(reply.passBody())).toEqual(schema({ response: { case: "responseBody", value: { response: {} } } }));
});

test("an answer of our own, and the reply to continue, are readable with Envoy's schema", () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 599 }), headers, body, fc.string(), (status, set, bytes, details) => {
      expect(decode(reply.answerNow({ status, headers: set, body: bytes, details }))).toEqual(
        schema({
          response: {
            case: "immediateResponse",
            value: { status: { code: status }, headers: mutation(set, []), body: bytes, details },
          },
        }),
      );
    }),
  );
  expect(decode(reply.continueToBody())).toEqual(schema({ response: { case: "requestHeaders", value: { response: {} } } }));
});

const rawHeaders = fc.array(fc.record({ key: name, rawValue: fc.uint8Array({ maxLength: 200 }), value: fc.constant("") }), {
  maxLength: 40,
});

test("headers from Envoy are read, repeated ones as one list", () => {
  fc.assert(
    fc.property(rawHeaders, fc.boolean(), fc.option(fc.string()), (headers, endOfStream, details) => {
      const filter: Record<string, string> = details === null ? {} : { "response.code_details": details };
      const expected = new Map<string, string>();
      for (const { key, rawValue } of headers) {
        const text = Buffer.from(rawValue).toString("latin1");
        expected.set(key, expected.has(key) ? `${expected.get(key)}, ${text}` : text);
      }
      for (const kind of ["requestHeaders", "responseHeaders"] as const) {
        const message = create(ProcessingRequestSchema, {
          request: { case: kind, value: { headers: { headers }, endOfStream } },
          attributes: { "envoy.filters.http.ext_proc": filter, other: { "response.code_details": "not ours" } },
          metadataContext: create(MetadataSchema, { filterMetadata: { any: { thing: 1.5 } } }),
        });
        expect(readProcessingRequest(Buffer.from(toBinary(ProcessingRequestSchema, message)))).toEqual({
          kind,
          headers: expected,
          isEnd: endOfStream,
          details,
        });
      }
    }),
  );
});

test("bodies and trailers from Envoy are read", () => {
  fc.assert(
    fc.property(body, fc.boolean(), (bytes, endOfStream) => {
      for (const kind of ["requestBody", "responseBody"] as const) {
        const message = create(ProcessingRequestSchema, { request: { case: kind, value: { body: bytes, endOfStream } } });
        expect(readProcessingRequest(Buffer.from(toBinary(ProcessingRequestSchema, message)))).toEqual({
          kind,
          body: bytes,
          isEnd: endOfStream,
        });
      }
    }),
  );
  const sent = { headers: [{ key: "x-internal", rawValue: Buffer.from("secret") }, { key: "grpc-status" }] };
  const trailers = create(ProcessingRequestSchema, { request: { case: "responseTrailers", value: { trailers: sent } } });
  expect(readProcessingRequest(Buffer.from(toBinary(ProcessingRequestSchema, trailers)))).toEqual({
    kind: "responseTrailers",
    names: ["x-internal", "grpc-status"],
  });
});

test("a message cut anywhere is an error, never half a message or an endless loop", () => {
  const message = create(ProcessingRequestSchema, {
    request: { case: "requestBody", value: { body: Buffer.alloc(300, "x"), endOfStream: true } },
  });
  const bytes = Buffer.from(toBinary(ProcessingRequestSchema, message));
  for (let length = 1; length < bytes.length; length++) {
    expect(() => readProcessingRequest(bytes.subarray(0, length))).toThrow(/protobuf/);
  }
});

test("span attributes are sent with the answer, as Envoy's schema defines them", () => {
  const texts = fc.dictionary(fc.string({ minLength: 1, maxLength: 40 }), value, { maxKeys: 8, noNullPrototype: true });
  fc.assert(
    fc.property(body, name, texts, (bytes, namespace, metadata) => {
      const plain = decode(reply.finishResponse(bytes, {}));
      const dynamicMetadata = { [namespace]: metadata };
      expect(decode(reply.withMetadata(reply.finishResponse(bytes, {}), namespace, metadata))).toEqual({
        ...plain,
        dynamicMetadata,
      });
    }),
  );
});
