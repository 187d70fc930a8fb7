import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

const LOOPBACK = "127.0.0.1";
/** More than Envoy's circuit breakers allow by default. */
const STALLED = 1_200;

let dashboard: Server;
let stack: XdsStack;
/** Uploads that have arrived and not ended. */
let stalled = 0;
beforeAll(async () => {
  dashboard = createServer((request, response) => {
    if (request.method === "GET") return void response.end("a page");
    stalled += 1;
    // Its body never ends.
    request.resume();
    response.on("close", () => (stalled -= 1));
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  // All of them may arrive before this busy process accepts one.
  dashboard.listen({ port: 0, host: LOOPBACK, backlog: 4_096 }, resolve);
  await listening;
  const address = dashboard.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  stack = await startXdsStack({ dashboard: { host: LOOPBACK, port } });
});
afterAll(async () => {
  await stack?.stop();
  dashboard?.closeAllConnections();
  dashboard?.close();
});

test("a thousand uploads that stall do not make Envoy refuse pages and the management API", { timeout: 300_000 }, async () => {
  const head = "POST /dashboard/sign-in HTTP/1.1\r\nhost: gateway\r\ncontent-length: 5000\r\n\r\n";
  const sockets = new Set<Socket>();
  let isOver = false;
  // On a busy machine Envoy may take too long to connect, and answer with an error.
  function upload(): void {
    if (isOver) return;
    const socket = connect(Number(new URL(stack.url).port), LOOPBACK, () => socket.write(head));
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      setTimeout(upload, 100);
    });
  }
  for (let count = 0; count < STALLED; count++) upload();
  try {
    await eventually(() => expect(stalled).toBe(STALLED), { withinMs: 240_000 });
    for (const path of ["/dashboard", "/api/v1/keys", "/install.sh"])
      expect((await fetch(`${stack.url}${path}`)).status, path).toBe(200);
  } finally {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  }
});
