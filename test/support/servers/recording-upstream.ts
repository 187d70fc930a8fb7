import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";

interface RecordedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  bodyBytes: number;
}

export interface RecordingUpstream {
  readonly port: number;
  readonly requests: RecordedRequest[];
  stop(): Promise<void>;
}

/** A model server that answers `{"ok":true}` or with `answer`, and records its requests. */
export async function startRecordingUpstream(
  answer?: (request: IncomingMessage, response: ServerResponse, body: string, bytes: Buffer) => void,
  { host = "127.0.0.1", port = 0 } = {},
): Promise<RecordingUpstream> {
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    let bodyBytes = 0;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => {
      bodyBytes += chunk.length;
      if (answer !== undefined) chunks.push(chunk);
    });
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers, bodyBytes });
      const bytes = Buffer.concat(chunks);
      if (answer !== undefined) return answer(request, response, bytes.toString("utf8"), bytes);
      response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
    });
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(port, host, resolve);
  await listening;
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  return {
    port: address.port,
    requests,
    async stop() {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      server.closeAllConnections();
      await closed;
    },
  };
}
