import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Metadata, type Client } from "@grpc/grpc-js";
import { STAGE } from "../../../contract/headers.ts";
import { createProcessingRequestReader, type ProcessingRequest } from "../../../extproc/processing-request.ts";
import type { Reply } from "../../../extproc/reply.ts";
import {
  ProcessingResponseSchema,
  type ProcessingResponse,
} from "../../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { FRAME_HEADER_BYTES } from "../../../runtime/grpc-frame.ts";
import type { GrpcHandler, GrpcMetadata, GrpcStream } from "../../../runtime/grpc-streams.ts";
import type { Answers } from "./answers.ts";

const METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";
const asIs = (bytes: Buffer) => bytes;

/** Passes one request on to the real extproc, and keeps its answers once both sides have ended cleanly. */
export function startRecording({
  client,
  stream,
  metadata,
  onRecorded,
}: {
  client: Client;
  stream: GrpcStream;
  metadata: GrpcMetadata;
  onRecorded: (answers: Answers) => void;
}): GrpcHandler {
  const read = createProcessingRequestReader();
  const sent = new Metadata();
  const stage = metadata[STAGE.header];
  if (typeof stage === "string") sent.set(STAGE.header, stage);
  const call = client.makeBidiStreamRequest(METHOD, asIs, asIs, sent);
  const single: Partial<Record<ProcessingRequest["kind"], Reply>> = {};
  const chunks: Buffer[] = [];
  const steps: { received: number; sent: number }[] = [];
  let received = 0;
  let sentBytes = 0;

  call.on("data", (message: Buffer) => {
    const answered = fromBinary(ProcessingResponseSchema, message);
    const reply = framed(message);
    const chunk = streamedBytes(answered);
    if (chunk !== undefined) {
      chunks.push(chunk);
      sentBytes += chunk.length;
      steps.push({ received, sent: sentBytes });
    } else if (answered.response.case !== undefined && isSingle(answered.response.case)) {
      single[answered.response.case] = reply;
    }
    stream.send(reply.frame, reply.rest);
  });
  call.on("error", (error) => stream.fail(error.message));
  call.on("end", () => {
    stream.end();
    const { requestHeaders, requestBody, responseHeaders, responseBody } = single;
    if (requestHeaders === undefined || requestBody === undefined || responseHeaders === undefined) return;
    onRecorded({
      requestHeaders,
      requestBody,
      responseHeaders,
      wholeBody: responseBody ?? null,
      streamed: { bytes: Buffer.concat(chunks), steps },
    });
  });

  return {
    message(message) {
      const request = read(message);
      if (request.kind === "responseBody") received += request.body.length;
      call.write(Buffer.from(message));
    },
    ended: () => call.end(),
    closed() {},
  };
}

function isSingle(name: string): name is "requestHeaders" | "requestBody" | "responseHeaders" | "responseBody" {
  return ["requestHeaders", "requestBody", "responseHeaders", "responseBody"].includes(name);
}

function framed(message: Buffer): Reply {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, FRAME_HEADER_BYTES);
  return { frame, rest: null };
}

/** StreamedBodyResponse in BodyMutation, which the generated schema does not know yet. */
const STREAMED_RESPONSE = 3;

/** Of a body that is streamed: `undefined` for any other answer. */
function streamedBytes({ response }: ProcessingResponse): Buffer | undefined {
  if (response.case !== "responseBody") return undefined;
  const field = response.value.response?.bodyMutation?.$unknown?.find(({ no }) => no === STREAMED_RESPONSE);
  if (field === undefined) return undefined;
  const reader = new BinaryReader(new BinaryReader(field.data).bytes());
  while (reader.pos < reader.len) {
    const [no, wireType] = reader.tag();
    if (no === 1) return Buffer.from(reader.bytes());
    reader.skip(wireType);
  }
  return Buffer.alloc(0);
}
