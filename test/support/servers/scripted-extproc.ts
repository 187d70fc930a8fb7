import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Server, ServerCredentials, status as grpcStatus, type sendUnaryData, type ServerDuplexStream } from "@grpc/grpc-js";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "../../../runtime/gen/envoy/config/core/v3/base_pb.js";
import {
  ProcessingMode_BodySendMode as BodySendMode,
  ProcessingMode_HeaderSendMode as HeaderSendMode,
} from "../../../runtime/gen/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js";
import {
  ExternalProcessor,
  ProcessingResponseSchema,
  type ProcessingRequest,
  type ProcessingResponse,
} from "../../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { serviceDefinition } from "../../../runtime/grpc.ts";

/** The processor's treatment of a request, which the test chooses with the request header `x-script`. */
export type Script =
  /** Sends it to a cluster, with another path if given; if it `streams`, its answer passes piece by piece. */
  | { kind: "route"; cluster: string; path?: string; streams?: boolean }
  /** Answers itself. */
  | { kind: "answer"; status: number; body: string; details: string }
  /** Chooses no backend. */
  | { kind: "no-backend" }
  /** Ends the gRPC stream cleanly at the request's body, as a processor with a bug would. */
  | { kind: "close" }
  /** Fails the gRPC stream at the request's headers. */
  | { kind: "fail" }
  /** Routes, then fails the gRPC stream after a moment, while the upstream still thinks. */
  | { kind: "route-then-fail"; cluster: string; path: string; afterMs: number };

/** The parts of a request and its response that the processor saw. */
interface Seen {
  requestHeaders: Record<string, string>;
  responseStatus: string | null;
  /** Envoy's attribute `response.code_details`. */
  responseDetails: string | null;
}

export interface ScriptedExtproc {
  readonly port: number;
  readonly seen: Seen[];
  stop(): void;
}

type Call = ServerDuplexStream<ProcessingRequest, ProcessingResponse>;
type ResponseInit = MessageInitShape<typeof ProcessingResponseSchema>;

/** An ext_proc server that follows scripts by name, for tests of Envoy's configuration alone. */
export async function startScriptedExtproc(scripts: ReadonlyMap<string, Script>): Promise<ScriptedExtproc> {
  const seen: Seen[] = [];
  const server = new Server({ "grpc.max_receive_message_length": -1 });
  server.addService(serviceDefinition(ExternalProcessor), {
    process: (call: Call) => serve(call, { scripts, seen }),
  });
  server.addService(healthService, { check: (_call: unknown, answer: sendUnaryData<Buffer>) => answer(null, SERVING) });
  const { promise: bound, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
  return { port: await bound, seen, stop: () => server.forceShutdown() };
}

const asBytes = (bytes: Buffer) => bytes;
/** HealthCheckResponse { status: SERVING } */
const SERVING = Buffer.from([0x08, 1]);
const healthService = {
  check: {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: asBytes,
    requestDeserialize: asBytes,
    responseSerialize: asBytes,
    responseDeserialize: asBytes,
  },
} as const;

function serve(call: Call, { scripts, seen }: { scripts: ReadonlyMap<string, Script>; seen: Seen[] }): void {
  let script: Script = { kind: "no-backend" };
  const record: Seen = { requestHeaders: {}, responseStatus: null, responseDetails: null };
  seen.push(record);
  const send = (response: ResponseInit) => call.write(create(ProcessingResponseSchema, response));

  call.on("data", ({ request, attributes }: ProcessingRequest) => {
    switch (request.case) {
      case "requestHeaders": {
        record.requestHeaders = headersOf(request.value);
        script = scripts.get(record.requestHeaders["x-script"] ?? "") ?? script;
        if (script.kind === "fail") return void call.emit("error", { code: grpcStatus.UNAVAILABLE, details: "scripted" });
        if (script.kind === "answer") return send(answerNow(script));
        return send({ response: { case: "requestHeaders", value: request.value.endOfStream ? routed(script) : {} } });
      }
      case "requestBody":
        if (script.kind === "close") return void call.end();
        if (script.kind === "route-then-fail") {
          setTimeout(() => call.emit("error", { code: grpcStatus.UNAVAILABLE, details: "scripted" }), script.afterMs);
        }
        return send({ response: { case: "requestBody", value: routed(script) } });
      case "responseHeaders":
        record.responseStatus = headersOf(request.value)[":status"] ?? null;
        record.responseDetails = detailsOf(attributes);
        return send({
          response: { case: "responseHeaders", value: {} },
          ...(script.kind === "route" && script.streams === true ? { modeOverride: STREAMED } : {}),
        });
      case "responseBody":
        return send({ response: { case: "responseBody", value: {} } });
      case "requestTrailers":
      case "responseTrailers":
      case undefined:
        throw new Error(`the filter asks for no ${request.case}`);
    }
  });
  call.on("end", () => call.end());
  call.on("error", () => undefined);
}

const STREAMED = {
  responseHeaderMode: HeaderSendMode.SEND,
  responseBodyMode: BodySendMode.STREAMED,
  responseTrailerMode: HeaderSendMode.SKIP,
};

function answerNow({ status, body, details }: Extract<Script, { kind: "answer" }>): ResponseInit {
  const headers = { setHeaders: [setHeader("content-type", "application/json"), setHeader("x-from", "extproc")] };
  return {
    response: { case: "immediateResponse", value: { status: { code: status }, headers, body: Buffer.from(body), details } },
  };
}

function routed(script: Script) {
  if (script.kind !== "route" && script.kind !== "route-then-fail") return {};
  const setHeaders = [setHeader("x-gateway-backend", script.cluster)];
  if (script.path !== undefined) setHeaders.push(setHeader(":path", script.path));
  return { response: { headerMutation: { setHeaders }, clearRouteCache: true } };
}

function setHeader(key: string, value: string) {
  return { header: { key, rawValue: Buffer.from(value) }, appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}

function headersOf(message: { headers?: { headers: { key: string; rawValue: Uint8Array }[] } | undefined }) {
  return Object.fromEntries((message.headers?.headers ?? []).map(({ key, rawValue }) => [key, Buffer.from(rawValue).toString()]));
}

function detailsOf(attributes: ProcessingRequest["attributes"]): string | null {
  const details = attributes["envoy.filters.http.ext_proc"]?.["response.code_details"];
  return typeof details === "string" ? details : null;
}
