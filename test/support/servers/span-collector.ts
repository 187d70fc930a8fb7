import { createServer } from "node:http";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

export interface CollectedSpan {
  name: string;
  /** In hexadecimal, as in a traceparent. */
  traceId: string;
  spanId: string;
  /** Empty for the first span of its trace. */
  parentId: string;
  attributes: Readonly<Record<string, string>>;
}

export interface SpanCollector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** All that arrived, as it came. */
  readonly bytes: () => Buffer;
  stop(): Promise<void>;
}

/** Takes spans over OTLP on HTTP, as a collector would. */
export async function startSpanCollector(): Promise<SpanCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isExport = request.method === "POST" && request.url === "/v1/traces";
      if (isExport) {
        const body = Buffer.concat(chunks);
        bodies.push(body);
        spans.push(...readExport(body));
      }
      response.writeHead(isExport ? 200 : 404, { "content-type": "application/x-protobuf" }).end();
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the collector listens on no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    bytes: () => Buffer.concat(bodies),
    stop() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}

/** Of opentelemetry/proto/collector/trace/v1: the numbers of fields on the way to the spans. */
const RESOURCE_SPANS = 1;
const SCOPE_SPANS = 2;
const SPANS = 2;
const SPAN = { traceId: 1, spanId: 2, parentId: 4, name: 5, attributes: 9 } as const;

function readExport(body: Uint8Array): CollectedSpan[] {
  return parts(body, RESOURCE_SPANS)
    .flatMap((resource) => parts(resource, SCOPE_SPANS))
    .flatMap((scope) => parts(scope, SPANS))
    .map((span) => ({
      name: text(span, SPAN.name),
      traceId: hexadecimal(span, SPAN.traceId),
      spanId: hexadecimal(span, SPAN.spanId),
      parentId: hexadecimal(span, SPAN.parentId),
      // Envoy reports every value as a string: field 1 of a value.
      attributes: Object.fromEntries(
        parts(span, SPAN.attributes).map((pair) => [text(pair, 1), parts(pair, 2).map((value) => text(value, 1))[0] ?? ""]),
      ),
    }));
}

/** The values of a field that is a message, a text or bytes. */
function parts(message: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type, number);
  }
  return found;
}

function text(message: Uint8Array, field: number): string {
  return Buffer.from(parts(message, field)[0] ?? []).toString("utf8");
}

function hexadecimal(message: Uint8Array, field: number): string {
  return Buffer.from(parts(message, field)[0] ?? []).toString("hex");
}
