import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { drainEnvoy, resumeEnvoy } from "../../../runtime/envoy-drain.ts";

/** Stands in for Envoy's admin interface, which counts running requests: one number for each look, the last for all further ones. */
async function startAdmin(counts: readonly number[]): Promise<{ url: string; looks(): number }> {
  let looks = 0;
  const server = createServer((request, response) => {
    if (request.url === "/healthcheck/fail") return void response.end("OK\n");
    looks += 1;
    response.end(`http.clients.downstream_rq_active: ${counts[Math.min(looks, counts.length) - 1]}\n`);
  });
  return { url: await listen(server), looks: () => looks };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return `http://127.0.0.1:${address.port}`;
}

test("a drain waits for a request that follows a long answer on the same connection", async () => {
  // The answer began before the drain, so its client was not told to close the connection, and uses it once more.
  const answer = Array.from({ length: 8 }, () => 1);
  const admin = await startAdmin([...answer, 0, 1, 1, 0]);
  expect(await drainEnvoy(admin.url, { minMs: 200, maxMs: 60_000 })).toBe(0);
  expect(admin.looks()).toBeGreaterThan(answer.length + 3);
});

test("a drain without a minimum time ends as soon as nothing runs", async () => {
  const admin = await startAdmin([1, 0]);
  expect(await drainEnvoy(admin.url, { maxMs: 60_000 })).toBe(0);
  expect(admin.looks()).toBe(2);
});

test("a drain ends at its deadline, and reports how many requests were still running", async () => {
  const admin = await startAdmin([3]);
  expect(await drainEnvoy(admin.url, { maxMs: 120 })).toBe(3);
});

test("a drain does not end because Envoy is slow to answer, and cuts no request off", async () => {
  const counts = [1, 1, 0];
  const slow = new Set(["/healthcheck/fail", "/stats"]);
  const server = createServer((request, response) => {
    const page = request.url?.replace(/\?.*/, "") ?? "";
    // The first request for each page gets no answer.
    if (slow.delete(page)) return;
    response.end(page === "/stats" ? `http.clients.downstream_rq_active: ${counts.shift()}\n` : "OK\n");
  });
  const url = await listen(server);
  expect(await drainEnvoy(url, { maxMs: 60_000 })).toBe(0);
  expect(counts).toEqual([]);
});

test("an Envoy that ends during the drain has nothing more to drain", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/healthcheck/fail") return void response.end("OK\n");
    server.close();
    server.closeAllConnections();
  });
  const url = await listen(server);
  expect(await drainEnvoy(url, { maxMs: 60_000 })).toBeUndefined();
});

test("a drain does not end because one connection breaks, and cuts no request off", async () => {
  const counts = [1, 1, 0];
  const broken = new Set(["/healthcheck/fail", "/stats"]);
  const server = createServer((request, response) => {
    const page = request.url?.replace(/\?.*/, "") ?? "";
    if (broken.delete(page)) return void request.socket.resetAndDestroy();
    response.end(page === "/stats" ? `http.clients.downstream_rq_active: ${counts.shift()}\n` : "OK\n");
  });
  const url = await listen(server);
  expect(await drainEnvoy(url, { maxMs: 60_000 })).toBe(0);
  expect(counts).toEqual([]);
});

/** Where nobody listens any more. */
async function goneAdmin(): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

test("an Envoy that is gone has nothing to drain", async () => {
  expect(await drainEnvoy(await goneAdmin(), { maxMs: 60_000 })).toBeUndefined();
});

/** @param silent so many requests get no answer. */
async function startSlowAdmin(silent: number): Promise<string> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    if (asked > silent) response.end(request.url === "/healthcheck/ok" ? "OK\n" : "");
  });
  onTestFinished(() => server.closeAllConnections());
  return listen(server);
}

test("a drain is reversed even if Envoy is slow to answer", async () => {
  expect(await resumeEnvoy(await startSlowAdmin(1), { maxMs: 60_000 })).toBe(true);
});

test("an Envoy that does not answer in time stays drained, and the caller is told", async () => {
  expect(await resumeEnvoy(await startSlowAdmin(1_000), { maxMs: 0 })).toBe(false);
});

test("an Envoy that is gone has no drain to reverse", async () => {
  expect(await resumeEnvoy(await goneAdmin(), { maxMs: 60_000 })).toBe(true);
});
