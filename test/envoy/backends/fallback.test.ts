import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freePort } from "../../../local/process/ports.ts";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { startDataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { startFailingUpstream, type Behaviour, type FailingUpstream } from "../../support/servers/failing-upstream.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Models with several backends, through a real Envoy: what one of them fails to answer, the next one does (S22). */
let stack: TestProduct;
let upstream: FailingUpstream;
let removeManifests: () => Promise<void>;

const INTERFACES = [
  { name: "chat", path: "/v1/chat/completions", object: "chat.completion", timeout: "server_error" },
  { name: "messages", path: "/v1/messages", object: "message", timeout: "timeout_error" },
  { name: "responses", path: "/v1/responses", object: '"response"', timeout: "server_error" },
] as const;
const FAULTS = {
  "cannot be reached": "refused",
  "says 429": { kind: "status", status: 429, headers: { "retry-after": "60" } },
  "says 500": { kind: "status", status: 500 },
  "says 503 in HTML": { kind: "status", status: 503, headers: { "content-type": "text/html" }, body: "<html>nginx</html>" },
  "refuses our key": { kind: "status", status: 401 },
  "does not begin in time": { kind: "stall" },
  "resets the connection": { kind: "reset" },
} as const satisfies Record<string, Behaviour | "refused">;
type Fault = keyof typeof FAULTS;
const FAULT_NAMES = [
  "cannot be reached",
  "says 429",
  "says 500",
  "says 503 in HTML",
  "refuses our key",
  "does not begin in time",
  "resets the connection",
] as const satisfies readonly Fault[];

/** The request that a second backend gets. */
const SECONDS = {
  messages: { askedPath: "/v1/messages", credential: "x-api-key", other: "authorization", scheme: "" },
  responses: { askedPath: "/v1/responses", credential: "authorization", other: "x-api-key", scheme: "Bearer " },
} as const;

/** Two faults are enough to see that a Responses server takes over as well. */
const casesOf = (fault: Fault) =>
  (["messages", "responses"] as const).flatMap((protocol) =>
    protocol === "responses" && fault !== "says 500" && fault !== "resets the connection"
      ? []
      : (["whole", "stream"] as const).map((form) => ({ protocol, form })),
  );

const MORE = ["breaks", "asked", "probed", "body", "chunked", "gone", "header", "unsayable", "ended", "killed", "burst"];

/** Each case has a Model of its own: a backend that failed is remembered. */
const caseName = (...parts: readonly string[]) =>
  parts
    .join("-")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .toLowerCase();

beforeAll(async () => {
  upstream = await startFailingUpstream();
  const deadPort = await freePort();
  const at = (name: string, behaviour: Behaviour | "refused") =>
    behaviour === "refused" ? `http://127.0.0.1:${deadPort}/${name}` : upstream.url(name, behaviour);
  const backend = (name: string, behaviour: Behaviour | "refused", more: Partial<TestBackend> = {}): TestBackend => ({
    name: name.endsWith("-b") ? "second" : "first",
    protocol: "chat",
    url: at(name, behaviour),
    priority: name.endsWith("-b") ? 1 : 0,
    credential: `key-of-${name}`,
    ...more,
  });
  const pair = (
    name: string,
    first: Behaviour | "refused",
    second: Behaviour | "refused",
    protocol: TestBackend["protocol"] = "messages",
  ): TestModelOfMany => ({
    name,
    // All others have as long as a busy machine takes.
    timeouts: { firstByte: /does-not-begin|silent/.test(name) ? "2s" : "60s" },
    backends: [backend(`${name}-a`, first), backend(`${name}-b`, second, { protocol })],
  });

  const faults = INTERFACES.flatMap(({ name }) =>
    FAULT_NAMES.flatMap((fault) =>
      casesOf(fault).map(({ form, protocol }) =>
        pair(caseName(name, fault, protocol, form), FAULTS[fault], { kind: "answer" }, protocol),
      ),
    ),
  );
  const everythingFails = INTERFACES.map(({ name }) =>
    pair(`${name}-all-fail`, { kind: "status", status: 500 }, { kind: "status", status: 429, headers: { "retry-after": "17" } }),
  );
  const everythingSilent = INTERFACES.map(({ name }) => pair(`${name}-all-silent`, "refused", { kind: "stall" }));
  const aboutTheRequest = INTERFACES.map(({ name }) => pair(`${name}-bad-request`, { kind: "answer" }, { kind: "answer" }));
  const more = MORE.map((name) => pair(name, { kind: "answer" }, { kind: "answer" }));
  const { directory, remove } = await makeBackendManifests([
    ...faults,
    ...everythingFails,
    ...everythingSilent,
    ...aboutTheRequest,
    ...more,
    { name: "single", backends: [backend("single-a", { kind: "answer" })] },
    {
      name: "unweighted",
      backends: [backend("unweighted-a", { kind: "answer" }), backend("unweighted-b", { kind: "answer" }, { weight: 0 })],
    },
  ]);
  removeManifests = remove;
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n, manifestsDirectory: directory });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await removeManifests();
});

const errorBody = z.looseObject({ error: z.looseObject({ message: z.string(), type: z.string() }) });

interface Asked {
  model: string;
  stream?: boolean;
  n?: number;
  messages: readonly object[];
}

async function call(path: string, { messages, ...body }: Asked) {
  const prompt = path === "/v1/responses" ? { input: messages, max_output_tokens: 64 } : { messages, max_tokens: 64 };
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ ...body, ...prompt }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const asking = (content: string) => [{ role: "user", content }];

describe.for(INTERFACES)("on the $name interface", ({ name, path, object, timeout }) => {
  describe.for(FAULT_NAMES)("if the first backend %s", (fault) => {
    test.for(casesOf(fault))(
      "the second one, which speaks $protocol, answers, and it alone is charged (S15, S28): $form",
      async ({ form, protocol }) => {
        const { askedPath, credential, other, scheme } = SECONDS[protocol];
        const model = caseName(name, fault, protocol, form);
        const isStream = form === "stream";
        const answer = await call(path, { model, stream: isStream, messages: asking("Hello there. [[sim tokens=12]]") });
        expect(answer.text).toContain("This is a simulation".slice(0, 4));
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toContain(isStream ? "text/event-stream" : "application/json");
        expect(answer.text).toContain(object);
        expect(
          [...answer.headers.keys()].filter((header) => header.startsWith("x-gateway") || header.startsWith("x-envoy")),
        ).toEqual(isStream ? [] : ["x-gateway-cost"]);

        const first = upstream.seen(`${model}-a`);
        expect(first).toHaveLength(fault === "cannot be reached" ? 0 : 1);
        for (const { headers } of first) {
          expect(headers.authorization).toBe(`Bearer key-of-${model}-a`);
          expect(headers["x-api-key"]).toBeUndefined();
        }
        const second = upstream.seen(`${model}-b`);
        expect(second.map((each) => each.path)).toEqual([askedPath]);
        expect(second[0]?.headers[credential]).toBe(`${scheme}key-of-${model}-b`);
        expect(second[0]?.headers[other]).toBeUndefined();
        expect(JSON.stringify(second[0]?.headers)).not.toMatch(/key-of-[^"]*-a"|sk-mg|x-gateway|x-envoy/);
        expect(second[0]?.headers["content-length"]).toMatch(/^\d+$/);

        const requestId = answer.headers.get("x-request-id") ?? "";
        expect(await stack.usageOf(requestId)).toEqual([
          expect.objectContaining({ backend: "second", upstreamProtocol: protocol, outcome: "complete", httpStatus: 200 }),
        ]);
        expect(await stack.entriesOf(requestId)).toHaveLength(1);
      },
    );
  });

  test("if all fail, the caller gets the last error, with the number of servers tried, for free (S22, S28)", async () => {
    const model = `${name}-all-fail`;
    const answer = await call(path, { model, messages: asking("Hello.") });
    expect(answer.status).toBe(429);
    expect(answer.headers.get("retry-after")).toBe("17");
    const { error } = errorBody.parse(JSON.parse(answer.text));
    expect(error.type).toBe("rate_limit_error");
    expect(error.message).toContain("2 servers were tried");
    expect(answer.text).not.toMatch(/first|second|all-fail-a|127\.0\.0\.1/);
    expect(upstream.seen(`${model}-a`)).toHaveLength(1);
    expect(upstream.seen(`${model}-b`)).toHaveLength(1);
    const requestId = answer.headers.get("x-request-id") ?? "";
    expect(await stack.usageOf(requestId)).toEqual([
      expect.objectContaining({ backend: "second", outcome: "failed", httpStatus: 429, chargeNanoUsd: 0n }),
    ]);
    expect(await stack.entriesOf(requestId)).toEqual([]);
  });

  test("if no server is left, a silent one is a 504 in the caller's format (S22)", async () => {
    const answer = await call(path, { model: `${name}-all-silent`, messages: asking("Hello."), stream: true });
    expect(answer.status).toBe(504);
    expect(answer.headers.get("content-type")).toBe("application/json");
    const { error } = errorBody.parse(JSON.parse(answer.text));
    expect(error).toMatchObject({ type: timeout });
    expect(error.message).toContain("2 servers were tried");
    await eventually(() => expect(upstream.seen(`${name}-all-silent-b`).map(({ isOver }) => isOver)).toEqual([true]));
  });

  test("the first backend's error about the request reaches the caller, and no other backend is tried (S22)", async () => {
    const model = `${name}-bad-request`;
    const answer = await call(path, { model, messages: asking("Fail. [[sim status=400]]") });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain("tried");
    expect(upstream.seen(`${model}-a`)).toHaveLength(1);
    expect(upstream.seen(`${model}-b`)).toHaveLength(0);
  });
});

test.for(["single", "unweighted"])(
  "a Model with one server that accepts requests takes no detour inside Envoy: %s",
  async (model) => {
    const countDetours = async () => {
      const stats = await fetch(`${stack.envoyAdminUrl}/stats?filter=^cluster.attempts.upstream_rq_total$`);
      return Number(/: (\d+)/.exec(await stats.text())?.[1]);
    };
    const before = await countDetours();
    expect(before).toBeGreaterThan(0);
    for (const { path } of INTERFACES) expect((await call(path, { model, messages: asking("Hello.") })).status).toBe(200);
    expect(upstream.seen(`${model}-a`)).toHaveLength(INTERFACES.length);
    expect(await countDetours()).toBe(before);
  },
);

test("a stream that has begun is not restarted elsewhere (S22)", async () => {
  const answer = await call("/v1/chat/completions", {
    model: "breaks",
    stream: true,
    messages: asking("Break. [[sim cut-after=4]]"),
  });
  expect(answer.status).toBe(200);
  expect(answer.text).toMatch(/data: \{"error"/);
  expect(upstream.seen("breaks-b")).toHaveLength(0);
});

test("a server that sends retry-after is skipped by the next requests", async () => {
  upstream.behave("asked-a", { kind: "status", status: 429, headers: { "retry-after": "60" } });
  for (let turn = 0; turn < 3; turn++) {
    const answer = await call("/v1/chat/completions", { model: "asked", messages: asking("Hello.") });
    expect(answer.status).toBe(200);
  }
  expect(upstream.seen("asked-a")).toHaveLength(1);
  expect(upstream.seen("asked-b")).toHaveLength(3);
});

test("a failed server is probed after a pause, and used again once it answers", async () => {
  upstream.behave("probed-a", { kind: "status", status: 500 });
  const ask = async () => (await call("/v1/chat/completions", { model: "probed", messages: asking("Hello.") })).status;
  for (let turn = 0; turn < 5; turn++) expect(await ask()).toBe(200);
  // It rests from its third failure in a row.
  const before = upstream.seen("probed-a").length;
  expect(before).toBeLessThan(5);
  upstream.behave("probed-a", { kind: "answer" });
  await eventually(async () => {
    expect(await ask()).toBe(200);
    expect(upstream.seen("probed-a").length).toBeGreaterThan(before);
  });
  const others = upstream.seen("probed-b").length;
  expect(await ask()).toBe(200);
  expect(upstream.seen("probed-b")).toHaveLength(others);
});

test("when a backend breaks under many requests, each of them is answered by another", async () => {
  upstream.behave("burst-a", { kind: "status", status: 502 });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      call("/v1/chat/completions", { model: "burst", stream: index % 2 === 0, messages: asking(`Hello ${index}.`) }),
    ),
  );
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  expect(upstream.seen("burst-b")).toHaveLength(200);
  expect(upstream.seen("burst-a").length).toBeGreaterThan(2);
});

test("a prompt of 30 MB is sent again completely", async () => {
  upstream.behave("body-a", { kind: "status", status: 503 });
  const answer = await call("/v1/messages", { model: "body", messages: asking("word ".repeat(6_000_000)) });
  expect(answer.status).toBe(200);
  expect(upstream.seen("body-a")).toHaveLength(1);
  expect(upstream.seen("body-b")).toHaveLength(1);
  expect(Number(upstream.seen("body-b")[0]?.headers["content-length"])).toBeGreaterThan(30_000_000);
});

test("a body of unknown length is sent again completely, with its length", async () => {
  upstream.behave("chunked-a", { kind: "status", status: 503 });
  const text = JSON.stringify({ model: "chunked", max_tokens: 64, messages: asking("Hello.") });
  const response = await fetch(`${stack.baseUrl}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: new Blob([text]).stream(),
    duplex: "half",
  });
  expect(response.status).toBe(200);
  await response.text();
  const [sent] = upstream.seen("chunked-b");
  expect(sent?.headers["transfer-encoding"]).toBeUndefined();
  expect(sent?.headers["content-length"]).toMatch(/^\d+$/);
});

test("a server can neither request another attempt itself nor learn of ours", async () => {
  upstream.behave("header-a", { kind: "status", status: 400, headers: { "x-gateway-try-next": "1" } });
  const answer = await call("/v1/chat/completions", { model: "header", messages: asking("Hello.") });
  expect(answer.status).toBe(400);
  expect(upstream.seen("header-a")).toHaveLength(1);
  expect(upstream.seen("header-b")).toHaveLength(0);
});

test("a client that disconnects while the first server is silent cancels it, and no other is tried", async () => {
  upstream.behave("gone-a", { kind: "stall" });
  const leaving = new AbortController();
  const asked = fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "gone", messages: asking("Hello.") }),
    signal: leaving.signal,
  });
  await eventually(() => expect(upstream.seen("gone-a")).toHaveLength(1));
  leaving.abort();
  await expect(asked).rejects.toThrow(/abort/);
  await eventually(() => expect(upstream.seen("gone-a").map(({ isOver }) => isOver)).toEqual([true]));
  await stack.idle();
  expect(upstream.seen("gone-b")).toHaveLength(0);
});

test("a backend whose protocol cannot express the request is skipped", async () => {
  // Two answers to one question are for chat servers alone; the messages server is second, so that only it is left.
  upstream.behave("unsayable-a", { kind: "status", status: 500 });
  const answer = await call("/v1/chat/completions", { model: "unsayable", n: 2, messages: asking("Hello.") });
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain("tried");
  expect(upstream.seen("unsayable-a")).toHaveLength(1);
  expect(upstream.seen("unsayable-b")).toHaveLength(0);
});

test("an Envoy that is stopped while attempts are running exits cleanly", async () => {
  const plane = await startDataPlane(stack);
  const asked = ["[[sim stall]]", "[[sim stall=3]]"].map((directive) =>
    fetch(`${plane.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.apiKey}` },
      body: JSON.stringify({ model: "ended", stream: true, messages: asking(`Wait. ${directive}`) }),
    }).then((response) => response.text()),
  );
  const ends = Promise.all(asked.map((each) => expect(each).rejects.toThrow(/fetch failed|terminated/)));
  await eventually(() => expect(upstream.seen("ended-a")).toHaveLength(2));
  expect(await plane.stop()).toBe(0);
  await ends;
});

test("if extproc dies, the second server's output is charged, under its name", async () => {
  const plane = await startDataPlane(stack);
  upstream.behave("killed-a", { kind: "status", status: 500 });
  try {
    const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.apiKey}` },
      body: JSON.stringify({ model: "killed", stream: true, messages: asking("Wait. [[sim stall=8 tokens=40]]") }),
    });
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    await reader?.read();
    await plane.endExtproc("SIGKILL");
    await plane.startExtproc();
    expect(await stack.usageOf(response.headers.get("x-request-id") ?? "")).toEqual([
      expect.objectContaining({ backend: "second", upstreamProtocol: "messages", outcome: "lost", isEstimated: true }),
    ]);
  } finally {
    await plane.stop();
  }
});

test("failed attempts are counted, and nothing is left open", async () => {
  await stack.idle();
  const metrics = await scrape(stack.extprocAdminUrl);
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  expect(text).toContain('gateway_failed_attempts_total{model="asked",result="next_backend"} 1');
  expect(metrics.get("gateway_internal_failures_total")).toBe(0);
  expect(metrics.get("gateway_open_holds")).toBe(0);
  expect(stack.complaints.filter((line) => /internal|failed outside/.test(line))).toEqual([]);
});
