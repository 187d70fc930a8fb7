import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { ExportTraceServiceRequestSchema, type AnyValue, type KeyValue } from "../../../runtime/gen/otlp/traces_pb.js";

interface ReceivedSpan {
  /** In hexadecimal. */
  traceId: string;
  spanId: string;
  name: string;
  isError: boolean;
  attributes: Readonly<Record<string, unknown>>;
}

interface ReceivedBatch {
  path: string;
  headers: Readonly<Record<string, string>>;
  /** As it was before compression. */
  body: Buffer;
  resource: Readonly<Record<string, unknown>>;
  spans: readonly ReceivedSpan[];
}

export interface OtlpReceiver {
  /** Without a path. */
  url: string;
  batches: readonly ReceivedBatch[];
  /** Of all batches that were answered with 200. */
  accepted: () => ReceivedSpan[];
}

/** What it does with the batch of this number, from 0: by default it accepts each one. */
export type OtlpAnswer = (response: ServerResponse, index: number) => void;

export const accept: OtlpAnswer = (response) => answer(response, 200);

export function answer(response: ServerResponse, status: number, { headers = {}, body = Buffer.alloc(0) } = {}): void {
  response.writeHead(status, { "content-type": "application/x-protobuf", ...headers }).end(body);
}

/** An observability system of a customer's. */
export async function startOtlpReceiver(respond: OtlpAnswer = accept): Promise<OtlpReceiver> {
  const batches: ReceivedBatch[] = [];
  const answered: { response: ServerResponse; batch: ReceivedBatch }[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const batch = readBatch(request.url ?? "", z.record(z.string(), z.string()).parse(request.headers), Buffer.concat(chunks));
      batches.push(batch);
      answered.push({ response, batch });
      respond(response, batches.length - 1);
    });
  });
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  const isAccepted = ({ response }: { response: ServerResponse }) => response.headersSent && response.statusCode === 200;
  return {
    url: `http://${LOOPBACK}:${address.port}`,
    batches,
    accepted: () => answered.filter(isAccepted).flatMap(({ batch }) => batch.spans),
  };
}

function readBatch(path: string, headers: Record<string, string>, sent: Buffer): ReceivedBatch {
  const body = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
  const { resourceSpans } = fromBinary(ExportTraceServiceRequestSchema, body);
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  return {
    path,
    headers,
    body,
    resource: valuesOf(resourceSpans[0]?.resource?.attributes ?? []),
    spans: spans.map(({ traceId, spanId, name, attributes, status }) => ({
      traceId: Buffer.from(traceId).toString("hex"),
      spanId: Buffer.from(spanId).toString("hex"),
      name,
      isError: status !== undefined,
      attributes: valuesOf(attributes),
    })),
  };
}

function valuesOf(attributes: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value && plain(value)]));
}

function plain({ value }: AnyValue): unknown {
  return value.case === "arrayValue" ? value.value.values.map(plain) : value.value;
}
