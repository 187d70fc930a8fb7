import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { drainEnvoy } from "../../../runtime/envoy-drain.ts";

/** Stands in for Envoy's admin interface, which counts running requests: one number for each look, the last for all further ones. */
async function startAdmin(counts: readonly number[]): Promise<{ url: string; looks(): number }> {
  let looks = 0;
  const server = createServer((request, response) => {
    if (request.url === "/healthcheck/fail") return void response.end("OK\n");
    looks += 1;
    response.end(`http.clients.downstream_rq_active: ${counts[Math.min(looks, counts.length) - 1]}\n`);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return { url: `http://127.0.0.1:${address.port}`, looks: () => looks };
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

test("an Envoy that is gone has nothing to drain", async () => {
  expect(await drainEnvoy("http://127.0.0.1:1", { maxMs: 60_000 })).toBeUndefined();
});
