import { fromBinary } from "@bufbuild/protobuf";
import { HEADERS, MAX_REQUEST_BYTES, STAGE } from "../contract/headers.ts";
import {
  startGrpcStreams,
  type GrpcHandler,
  type GrpcMetadata,
  type GrpcStream,
  type GrpcStreams,
} from "../runtime/grpc-streams.ts";
import { AccessLogType } from "../runtime/gen/envoy/data/accesslog/v3/accesslog_pb.js";
import { StreamAccessLogsMessageSchema } from "../runtime/gen/envoy/service/accesslog/v3/als_pb.js";
import type { Logger } from "../runtime/log.ts";
import type { BrokenAnswer } from "./broken-answers.ts";
import type { EarlyAnswers } from "./early-answers/early-answers.ts";
import type { Flow } from "./exchange/context.ts";
import type { Exchange } from "./exchange/exchange.ts";
import type { HeldAnswer } from "./held-answers.ts";
import type { Share, Turns } from "./load/turns.ts";
import { createProcessingRequestReader, type ProcessingRequest } from "./processing-request.ts";
import type { Reply } from "./reply.ts";

/** Reads ext_proc messages and passes them to one Exchange per request. */
export type ExtprocServer = GrpcStreams;

export interface ServerDeps {
  /** @param push sends Envoy an unsolicited message. @param flow of its messages. */
  createExchange(push: Push, flow: Flow): Steps;
  /** For one attempt of an exchange (operator/bootstrap/listeners/attempts.ts). */
  createAttempt(push: Push): Steps;
  /** The owner of the next message. */
  turns: Turns;
  /** Whose work is done for callers without a valid key. */
  strangers: Share;
  /** Envoy's report of an answer that its model server did not finish. */
  onBrokenAnswer(broken: BrokenAnswer): void;
  /** Envoy's report of how much has come of an answer. */
  onHeldAnswer(held: HeldAnswer): void;
  /** Streams that may be answered early, to be relayed to their model servers. */
  earlyAnswers: Pick<EarlyAnswers, "serve"> | null;
  log: Logger;
}

/** The receiver of Envoy's messages. */
type Steps = Omit<Exchange, "facts">;

type Push = (reply: Reply) => void;

const METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";
const REPORTS_METHOD = "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs";
const MESSAGE_SLACK_BYTES = 1024 * 1024;
/** Envoy's first message comes with the stream. */
const SILENT_MS = 10_000;

/** @param address `host:port` or `unix:/path`. */
export function startServer(address: string, deps: ServerDeps): Promise<ExtprocServer> {
  const read = createProcessingRequestReader();
  return startGrpcStreams({
    address,
    methods: {
      [METHOD]: { open: (stream, metadata) => serve(stream, metadata, { ...deps, read }) },
      [REPORTS_METHOD]: { isBackground: true, open: (stream) => serveReports(stream, deps) },
    },
    ...(deps.earlyAnswers === null ? {} : { http: { header: HEADERS.earlyAnswer, serve: deps.earlyAnswers.serve } }),
    maxMessageBytes: MAX_REQUEST_BYTES + MESSAGE_SLACK_BYTES,
    silentMs: SILENT_MS,
    onError: (error) => deps.log.error({ err: error }, "a connection from Envoy failed"),
  });
}

/** Reports arrive on a stream that stays open, and expect no answer (operator/bootstrap/filters). */
function serveReports(stream: GrpcStream, { onBrokenAnswer, onHeldAnswer }: ServerDeps): GrpcHandler {
  return {
    message(message) {
      const { logEntries } = fromBinary(StreamAccessLogsMessageSchema, message);
      if (logEntries.case !== "httpLogs") return;
      for (const { request, response, commonProperties } of logEntries.value.logEntry) {
        if (request === undefined) continue;
        if (commonProperties?.accessLogType === AccessLogType.DownstreamPeriodic) {
          onHeldAnswer({ requestId: request.requestId, bytes: Number(commonProperties.upstreamWireBytesReceived) });
          continue;
        }
        const cluster = commonProperties?.upstreamCluster ?? "";
        const { streamIdleTimeout = false, downstreamConnectionTermination = false } = commonProperties?.responseFlags ?? {};
        const bodyBytes = Number(response?.responseBodyBytes ?? 0n);
        onBrokenAnswer({
          requestId: request.requestId,
          cluster,
          status: response?.responseCode ?? 0,
          silentAfterBytes: streamIdleTimeout ? bodyBytes : null,
          leftAfterBytes: downstreamConnectionTermination ? bodyBytes : null,
        });
      }
    },
    ended: () => stream.end(),
    closed() {},
  };
}

type Read = (message: Buffer) => ProcessingRequest;

function serve(stream: GrpcStream, metadata: GrpcMetadata, deps: ServerDeps & { read: Read }): GrpcHandler {
  const push = ({ frame, rest }: Reply) => stream.send(frame, rest);
  const isAttempt = metadata[STAGE.header] === STAGE.attempt;
  const flow = sharedFlow(stream);
  const exchange = isAttempt ? deps.createAttempt(push) : deps.createExchange(push, flow);
  const lane = deps.turns.lane({ handle, ended, ...flow }, isAttempt ? null : deps.strangers);
  let isPaid = false;
  let isClosed = false;

  function close(isEnded: boolean): void {
    if (isClosed) return;
    isClosed = true;
    lane.close();
    exchange.closed(isEnded, stream.isConnected);
  }

  /** Envoy answers 503 and nothing goes upstream. A clean end would let it forward the request unprocessed. */
  function fail(error: unknown): void {
    deps.log.error({ err: error }, "unhandled error while handling a request");
    stream.fail("the processor could not finish this request");
    lane.close();
  }

  function handle(message: Buffer): void {
    try {
      const answered = answer(exchange, deps.read(message));
      if (answered instanceof Promise) answered.then(push).catch(fail);
      else if (answered !== undefined) push(answered);
    } catch (error) {
      fail(error);
    }
    if (isPaid) return;
    const load = exchange.load();
    if (load === null) return;
    isPaid = true;
    lane.payFrom(load.share);
  }

  // Envoy half-closes when it is done; answering that ends the stream without a reset (docs/architecture.md).
  function ended(): void {
    try {
      close(true);
      stream.end();
    } catch (error) {
      fail(error);
    }
  }

  return { message: lane.take, ended: lane.end, closed: () => close(false) };
}

/** For several who may pause it, each of whom resumes it: it runs while none of them waits. */
function sharedFlow(stream: Flow): Flow {
  let pauses = 0;
  return {
    pause() {
      pauses += 1;
      if (pauses === 1) stream.pause();
    },
    resume() {
      pauses -= 1;
      if (pauses === 0) stream.resume();
    },
  };
}

function answer(exchange: Steps, request: ProcessingRequest): Reply | Promise<Reply> | undefined {
  switch (request.kind) {
    case "requestHeaders":
      return exchange.requestHeaders(request.headers, request.isEnd);
    case "requestBody":
      return exchange.requestBody(request.body);
    case "responseHeaders":
      return exchange.responseHeaders(request.headers, { isLocalReply: isLocalReply(request.details), isEnd: request.isEnd });
    case "responseBody":
      return exchange.responseBody(request.body, request.isEnd);
    case "responseTrailers":
      return exchange.responseTrailers(request.names);
    case "other":
      return undefined;
  }
}

/** Envoy's own replies (413, 503, …) take the response path too; only those "via_upstream" are metered. */
function isLocalReply(details: string | null): boolean {
  return details !== null && details !== "via_upstream";
}
