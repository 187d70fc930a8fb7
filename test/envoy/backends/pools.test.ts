import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { ServerCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EndpointPool } from "../../../operator/xds/endpoint.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { eventually } from "../../support/eventually.ts";
import { startFakePicker, type FakePicker, type Pick } from "../../support/pools/picker.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { makeCertificates } from "../../support/servers/tls-certificates.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";
import { freePort } from "../../../local/process/ports.ts";

/** A real Envoy asks a picker for the pod of each request, as the operator's configuration tells it to (S57). */
let stack: XdsStack;
let pods: RecordingUpstream[] = [];
let picker: FakePicker;
/** Answers the last request that was `slow`. */
let finish: (() => void) | null = null;

beforeAll(async () => {
  const answer: Parameters<typeof startRecordingUpstream>[0] = (request, response, body) => {
    if (request.url?.endsWith("/stream") === true) return void stream(response);
    if (body.includes("slow")) return void (finish = () => response.writeHead(200).end("{}"));
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ bytes: body.length, host: request.headers.host }));
  };
  pods = [await startRecordingUpstream(answer), await startRecordingUpstream(answer)];
  picker = await startFakePicker({ kind: "silent" });
  stack = await startXdsStack();
});
afterAll(async () => {
  await stack?.stop();
  picker?.stop();
  for (const pod of pods) await pod.stop();
});

async function stream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; at < 5; at++) {
    response.write(`data: ${at}\n\n`);
    await sleep(50);
  }
  response.end("data: [DONE]\n\n");
}

const addressOf = (pod: RecordingUpstream | undefined) => `127.0.0.1:${pod?.port}`;
let clusters = 0;

/** A cluster of its own for each test, as extproc would name it. */
async function serve(pick: Pick, changes: Partial<EndpointPool> & { failsOpen?: boolean; picker?: EndpointPool["picker"] } = {}) {
  picker.pick = pick;
  const cluster = `model/m/b/${(clusters += 1)}`;
  const { failsOpen = false, ...others } = changes;
  const pool: EndpointPool = {
    members: pods.map(({ port }) => ({ host: "127.0.0.1", port })),
    isHttp2: false,
    picker: { host: "127.0.0.1", port: picker.port, isTls: false, failsOpen },
    ...others,
  };
  const push = (members = pool.members) => {
    const endpoint = { ...loopbackEndpoint(0), host: "a.b.pool", pool: { ...pool, members } };
    stack.xds.push(buildSnapshot({ clusters: new Map([[cluster, endpoint]]), secrets: new Map() }));
    return stack.xds.waitForAck(5_000);
  };
  expect(await push()).toEqual({ kind: "acked", envoys: 1 });
  stack.scripts.set(cluster, { kind: "route", cluster, path: "/v1/chat/completions" });
  stack.scripts.set(`${cluster}/stream`, { kind: "route", cluster, path: "/v1/stream", streams: true });
  return { cluster, push };
}

function send(script: string, body = "{}", signal?: AbortSignal): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, { method: "POST", body, headers: { "x-script": script }, signal });
}

function served(): number[] {
  return pods.map(({ requests }) => requests.length);
}

beforeEach(() => {
  for (const { requests } of pods) requests.length = 0;
});

test.for([0, 1])(
  "a request goes to the pod that the picker names, and the picker learns which pod answered (S57): %i",
  async (at) => {
    const { cluster } = await serve({ kind: "pods", pods: addressOf(pods[at]) });
    for (let asked = 0; asked < 6; asked++) {
      const response = await send(cluster);
      expect(await response.json()).toEqual({ bytes: 2, host: addressOf(pods[at]) });
    }
    expect(served()[at]).toBe(6);
    const last = picker.asked.at(-1);
    expect(last).toMatchObject({
      path: "/v1/chat/completions",
      bodyBytes: 2,
      responseStatus: "200",
      served: addressOf(pods[at]),
    });
  },
);

test("the picker gets no credential of a client, and a client cannot name a pod", async () => {
  const { cluster } = await serve({ kind: "pods", pods: addressOf(pods[0]) });
  const headers = {
    "x-script": cluster,
    authorization: "Bearer the-client's",
    "x-gateway-destination-endpoint": addressOf(pods[1]),
  };
  expect((await fetch(`${stack.url}/v1/chat/completions`, { method: "POST", body: "{}", headers })).status).toBe(200);
  expect(served()).toEqual([1, 0]);
  expect(JSON.stringify(picker.asked.at(-1)?.headers)).not.toContain("the-client's");
  expect(picker.asked.at(-1)?.headers["x-gateway-destination-endpoint"]).toBeUndefined();
});

test("the picker may speak TLS with a certificate of its own making", async () => {
  const { certificate, key } = await makeCertificates("epp");
  const secure = await startFakePicker(
    { kind: "pods", pods: addressOf(pods[1]) },
    {
      credentials: ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) }]),
    },
  );
  try {
    const { cluster } = await serve(picker.pick, {
      picker: { host: "127.0.0.1", port: secure.port, isTls: true, failsOpen: false },
    });
    expect((await send(cluster)).status).toBe(200);
    expect(served()).toEqual([0, 1]);
  } finally {
    secure.stop();
  }
});

test.for([1_000_000, 20_000_000])("a body of %i bytes reaches the pod whole", async (bytes) => {
  const { cluster } = await serve({ kind: "pods", pods: addressOf(pods[0]) });
  const response = await send(cluster, "x".repeat(bytes));
  expect(await response.json()).toMatchObject({ bytes });
  expect(picker.asked.at(-1)?.bodyBytes).toBe(bytes);
});

test("an answer streams past the picker, piece by piece", async () => {
  const { cluster } = await serve({ kind: "pods", pods: addressOf(pods[1]) });
  const response = await send(`${cluster}/stream`);
  const pieces: string[] = [];
  for await (const piece of response.body ?? []) pieces.push(Buffer.from(piece).toString("utf8"));
  expect(pieces.join("")).toBe(`${[0, 1, 2, 3, 4].map((at) => `data: ${at}\n\n`).join("")}data: [DONE]\n\n`);
  expect(pieces.length).toBeGreaterThan(3);
});

test("a picker that ends does not end the streams of its requests", async () => {
  const passing = await startFakePicker({ kind: "pods", pods: addressOf(pods[0]) });
  const { cluster } = await serve(picker.pick, {
    picker: { host: "127.0.0.1", port: passing.port, isTls: false, failsOpen: false },
  });
  const response = await send(`${cluster}/stream`);
  passing.stop();
  expect(await response.text()).toMatch(/\[DONE\]/);
});

test("of several pods the first one that is ready is asked", async () => {
  const { cluster } = await serve({ kind: "pods", pods: `127.0.0.1:9,${addressOf(pods[1])}` });
  for (let asked = 0; asked < 4; asked++) expect((await send(cluster)).status).toBe(200);
  expect(served()).toEqual([0, 4]);
});

test("a picker that names no pod of its pool leads nowhere else (S57)", async () => {
  const stranger = await startRecordingUpstream();
  try {
    const { cluster } = await serve({ kind: "pods", pods: `127.0.0.1:${stranger.port}` });
    for (let asked = 0; asked < 4; asked++) expect((await send(cluster)).status).toBe(200);
    expect(stranger.requests).toEqual([]);
    expect(served().reduce((sum, count) => sum + count)).toBe(4);
  } finally {
    await stranger.stop();
  }
});

test.for([
  [503, "no pod is ready"],
  [429, "the request is to be dropped"],
] as const)("a picker's %i passes, without its words: %s", async ([status]) => {
  const { cluster } = await serve({ kind: "refuse", status });
  const response = await send(cluster);
  expect(response.status).toBe(status);
  expect(await response.text()).not.toContain("10.1.2.3");
  expect(served()).toEqual([0, 0]);
});

test("without a picker, requests go to any pod if the pool fails open, and to none if not (S57)", async () => {
  const away = { host: "127.0.0.1", port: await freePort(), isTls: false };
  const open = await serve(picker.pick, { picker: { ...away, failsOpen: true } });
  await eventually(async () => expect((await send(open.cluster, "x".repeat(300_000))).status).toBe(200));
  for (let asked = 0; asked < 6; asked++) expect((await send(open.cluster, "x".repeat(300_000))).status).toBe(200);

  const closed = await serve(picker.pick, { picker: { ...away, failsOpen: false } });
  const before = served();
  const response = await send(closed.cluster);
  expect(response.status).toBe(503);
  expect(await response.text()).not.toMatch(/127\.0\.0\.1|connect|grpc/);
  expect(served()).toEqual(before);
});

test("a picker that goes and comes back is asked again, and in between a pool that fails open does without it", async () => {
  const port = await freePort();
  const pick = { kind: "pods", pods: addressOf(pods[1]) } as const;
  const first = await startFakePicker(pick, { port });
  const { cluster } = await serve(pick, { picker: { host: "127.0.0.1", port, isTls: false, failsOpen: true } });
  await eventually(async () => expect((await send(cluster)).status).toBe(200));
  first.stop();
  await eventually(async () => {
    for (let asked = 0; asked < 8; asked++) expect((await send(cluster)).status).toBe(200);
    expect(served()[0]).toBeGreaterThan(0);
  });
  const second = await startFakePicker(pick, { port });
  try {
    await eventually(async () => {
      expect((await send(cluster)).status).toBe(200);
      expect(second.asked.length).toBeGreaterThan(0);
    });
  } finally {
    second.stop();
  }
});

test("a picker that fails at a request fails that request alone", async () => {
  const { cluster } = await serve({ kind: "fail" });
  expect((await send(cluster)).status).toBe(503);
  picker.pick = { kind: "pods", pods: addressOf(pods[0]) };
  expect((await send(cluster)).status).toBe(200);
});

test.for([true, false])("a picker that ends while a pod thinks fails that request (failsOpen: %s)", async (failsOpen) => {
  const passing = await startFakePicker({ kind: "pods", pods: addressOf(pods[0]) });
  const { cluster } = await serve(picker.pick, { picker: { host: "127.0.0.1", port: passing.port, isTls: false, failsOpen } });
  finish = null;
  const answer = eventually(() => send(cluster, '"slow"'));
  const done = await eventually(() => {
    if (finish === null) throw new Error("no pod has the request yet");
    return finish;
  });
  passing.stop();
  await sleep(200);
  done();
  expect((await answer).status).toBe(503);
});

test.for(["silent", "deaf"] as const)("a picker that is %s holds a request of 20 MB, and nothing else", async (kind) => {
  const { cluster } = await serve({ kind });
  const before = picker.asked.length;
  const leaving = new AbortController();
  const held = send(cluster, "x".repeat(20_000_000), leaving.signal).then(
    ({ status }) => status,
    () => "left",
  );
  await eventually(() => expect(picker.asked.length).toBeGreaterThan(before));
  picker.pick = { kind: "pods", pods: addressOf(pods[0]) };
  for (let asked = 0; asked < 3; asked++) expect((await send(cluster)).status).toBe(200);
  leaving.abort();
  expect(await held).toBe("left");
  expect((await send(cluster)).status).toBe(200);
});

test("pods come and go without a cut for the requests of others (S57)", async () => {
  const { cluster, push } = await serve({ kind: "pods", pods: addressOf(pods[0]) });
  const running = await send(`${cluster}/stream`);
  expect(await push([{ host: "127.0.0.1", port: pods[1]?.port ?? 0 }])).toEqual({ kind: "acked", envoys: 1 });
  await eventually(async () => {
    expect((await send(cluster)).status).toBe(200);
    expect(pods[1]?.requests.length).toBeGreaterThan(0);
  });
  expect(await running.text()).toMatch(/\[DONE\]/);
  expect(await push([])).toEqual({ kind: "acked", envoys: 1 });
  await eventually(async () => expect((await send(cluster)).status).toBe(503));
});
