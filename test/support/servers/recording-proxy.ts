import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that lets nothing through, and knows who wanted to go where. */
export interface RecordingProxy {
  url: string;
  /** Host names, each once, sorted. */
  hosts(): string[];
  close(): Promise<void>;
}

export async function startRecordingProxy(): Promise<RecordingProxy> {
  const hosts = new Set<string>();
  const server: Server = createServer((request, response) => {
    hosts.add(URL.canParse(request.url ?? "") ? new URL(request.url ?? "").hostname : `?${request.url}`);
    response.writeHead(502).end();
  });
  server.on("connect", (request, socket) => {
    hosts.add((request.url ?? "").replace(/:\d+$/, ""));
    // A client that disconnects first is not an error.
    socket.on("error", () => {});
    socket.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    hosts: () => [...hosts].toSorted(),
    close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}
