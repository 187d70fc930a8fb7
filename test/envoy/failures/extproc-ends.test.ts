import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import * as z from "zod";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Each kills extproc at another moment of its requests. */
const ROUNDS = inject("isNight") ? 10 : 2;

/** extproc dies, or is asked to stop, while requests run. */
let stack: TestProduct;
let plane: DataPlane;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n });
  plane = await startDataPlane(stack);
});
afterAll(async () => {
  await plane.stop();
  await stack.stop();
});
beforeEach(async () => {
  await plane.startExtproc();
  await eventually(async () => expect((await send("There?")).status).toBe(200));
  await fetch(`${stack.simulatorUrl}/simulator/requests`, { method: "DELETE" });
});

const journal = z.object({
  requests: z.array(
    z.object({
      path: z.string(),
      headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
      credentials: z.array(z.unknown()),
    }),
  ),
});

async function receivedUpstream() {
  const response = await fetch(`${stack.simulatorUrl}/simulator/requests`);
  return journal.parse(await response.json()).requests;
}

function send(text: string, { stream = false, baseUrl = plane.baseUrl } = {}): Promise<Response> {
  return fetch(`${baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": stack.apiKey, cookie: "session=mine" },
    body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 64, stream, messages: [{ role: "user", content: text }] }),
  });
}

test("killed repeatedly under load: no unprocessed request ever reaches the upstream", async () => {
  const statuses: number[] = [];
  const countGood = () => statuses.filter((status) => status === 200).length;
  for (let round = 0; round < ROUNDS; round++) {
    const goodBefore = countGood();
    const load = Array.from({ length: 12 }, async () => {
      for (let index = 0; index < 40; index++) {
        const response = await send(`Round ${round}.`).catch(() => undefined);
        if (response !== undefined) statuses.push(response.status);
        await response?.text().catch(() => "");
      }
    });
    await eventually(() => expect(countGood()).toBeGreaterThan(goodBefore));
    await plane.endExtproc("SIGKILL");
    await Promise.all(load);

    for (const request of await receivedUpstream()) {
      // A raw messages request would still have the client's path and credentials, and an id that is not ours.
      expect(request.path).toBe("/v1/chat/completions");
      expect(request.credentials).toEqual([]);
      expect(request.headers["x-request-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    }
    await plane.startExtproc();
    await eventually(async () => expect((await send("Back?")).status).toBe(200));
  }
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
});

test("killed while a body is in transit: 503 in the caller's format, and nothing reaches the upstream", async () => {
  const body = JSON.stringify({
    model: "modelx-v4-pro",
    max_tokens: 64,
    messages: [{ role: "user", content: "word ".repeat(2000) }],
  });
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(plane.baseUrl).port) });
  const answer = new Promise<string>((resolve) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.on("error", () => {}).on("close", () => resolve(text));
  });
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\nx-api-key: ${stack.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.slice(0, 500));
  await sleep(200);
  await plane.endExtproc("SIGKILL");
  socket.write(body.slice(500));

  const text = await answer;
  expect(text).toMatch(/^HTTP\/1\.1 503 /);
  expect(text).toContain('"type":"error"');
  expect(await receivedUpstream()).toEqual([]);
});

test("killed in the middle of a stream: the client sees a broken connection, not an end", async () => {
  const response = await send("Long. [[sim tokens=200 chunk-ms=20]]", { stream: true });
  const reader = response.body?.getReader();
  await reader?.read();
  await plane.endExtproc("SIGKILL");
  const rest = async () => {
    let text = "";
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) return text;
      text += Buffer.from(part.value).toString();
    }
  };
  await expect(rest()).rejects.toThrow(/terminated/);
});

test("without extproc, each 503 closes its connection: the next one may reach another gateway", async () => {
  const session = connectHttp2(plane.baseUrl);
  try {
    // It is open from before.
    await once(session, "connect");
    await plane.endExtproc("SIGKILL");
    const answers = await Promise.all(["One.", "Two.", "Three."].map((text) => send(text)));
    expect(answers.map(({ status, headers }) => [status, headers.get("connection")])).toEqual(answers.map(() => [503, "close"]));
    const goneAway = once(session, "goaway");
    session.request({ ":path": "/v1/models" }).end();
    await goneAway;
  } finally {
    session.destroy();
  }
});

test("a 503 that is not extproc's fault keeps the connection", async () => {
  const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", messages: [{ role: "user", content: "Fail. [[sim status=503]]" }] }),
  });
  expect([response.status, response.headers.get("connection")]).toEqual([503, null]);
});

test("asked to stop: the open stream finishes and is charged, then the process exits cleanly", async () => {
  const response = await send("Long. [[sim tokens=60 chunk-ms=20]]", { stream: true });
  const requestId = response.headers.get("x-request-id") ?? "";
  const text = response.text();
  await sleep(200);
  const exitCode = await plane.endExtproc("SIGTERM");
  expect(await text).toMatch(/event: message_stop\n/);
  expect(exitCode).toBe(0);
  const [row] = await stack.usageOf(requestId);
  expect(row).toMatchObject({ outcome: "complete", isEstimated: false });
  expect(await stack.entriesOf(requestId)).toEqual([-(row?.chargeNanoUsd ?? 0n)]);
});

test("a client that disconnects in mid-stream is charged for the tokens produced (S28)", async () => {
  const leaving = new AbortController();
  const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({
      model: "modelx-v4-flash",
      stream: true,
      messages: [{ role: "user", content: "Long. [[sim tokens=500 chunk-ms=10]]" }],
    }),
  });
  const requestId = response.headers.get("x-request-id") ?? "";
  const reader = response.body?.getReader();
  for (let index = 0; index < 20; index++) await reader?.read();
  leaving.abort();
  const [row] = await stack.usageOf(requestId);
  expect(row?.outcome).toBe("aborted");
  expect(row?.usage.outputTokens).toBeGreaterThan(5);
  expect(row?.usage.outputTokens).toBeLessThan(400);
  expect(await stack.entriesOf(requestId)).toEqual([-(row?.chargeNanoUsd ?? 0n)]);
});

test.for([1, 2])("with its log disk full and %i workers, it still answers, and stops cleanly when asked to", async (workers) => {
  const full = await startDataPlane(stack, {}, { workers, stdout: "/dev/full" });
  // Some line meets the full disk, and those after it wait.
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const response = await eventually(() => send(`Line ${index}.`, { baseUrl: full.baseUrl }));
      await response.text();
      return response.status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(await full.endExtproc("SIGTERM")).toBe(0);
  await full.stop();
});

test("suspended, it gets no more requests: they are refused at once instead of timing out, and it is used again when it resumes", async () => {
  const healthy = async () =>
    (await plane.envoyStats("cluster.extproc.membership_healthy")).get("cluster.extproc.membership_healthy");
  const timeouts = async () => [...(await plane.envoyStats("message_timeouts")).values()].reduce((sum, each) => sum + each, 0);
  await eventually(async () => expect(await healthy()).toBe(1));
  const before = await timeouts();
  plane.signalExtproc("SIGSTOP");
  onTestFinished(() => plane.signalExtproc("SIGCONT"));
  await eventually(async () => expect(await healthy()).toBe(0));
  const response = await send("Anybody there?");
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ type: "error" });
  expect(await timeouts()).toBe(before);

  plane.signalExtproc("SIGCONT");
  await eventually(async () => expect((await send("And now?")).status).toBe(200));
});
