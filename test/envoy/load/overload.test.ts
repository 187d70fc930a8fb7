import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** A full process refuses at once, in the caller's shape (S17, S22), and no client's flood takes every place. */
const INTERFACES = [
  { name: "chat", path: "/v1/chat/completions" },
  { name: "messages", path: "/v1/messages" },
] as const;

function shapeOf(name: "chat" | "messages", { type, code, message }: { type: [string, string]; code: string; message: unknown }) {
  return {
    chat: { error: { message, type: type[0], param: null, code } },
    messages: { type: "error", error: { type: type[1], message }, request_id: expect.any(String) },
  }[name];
}

describe("an extproc with a capacity of four requests", () => {
  let stack: TestStack;
  let small: DataPlane;
  beforeAll(async () => {
    stack = await startTestStack();
    small = await startDataPlane(stack, { MAX_OPEN_REQUESTS: "4" });
  });
  afterAll(async () => {
    await small.stop();
    await stack.stop();
  });

  const ask = (path: string, { key, text, signal }: { key: string; text: string; signal?: AbortSignal }) =>
    fetch(small.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 64, stream: true, messages: [{ role: "user", content: text }] }),
      signal,
    });

  test("gives one account half of its capacity, others the rest, and reports when it is full", async () => {
    const accounts = await Promise.all(
      ["flood", "other", "third", "fourth"].map((name) => stack.createAccount({ name, creditNanoUsd: 1_000_000_000n })),
    );
    const [flood, other, third, fourth] = accounts.map(({ apiKey }) => apiKey);
    const known = (key = "") =>
      eventually(async () =>
        expect((await fetch(`${small.baseUrl}/v1/balance`, { headers: { "x-api-key": key } })).status).toBe(200),
      );
    for (const { apiKey } of accounts) await known(apiKey);
    const ends = new AbortController();
    const hold = async (key = "") => {
      const response = await ask("/v1/chat/completions", { key, text: "Wait. [[sim stall=4]]", signal: ends.signal });
      expect(response.status).toBe(200);
      return response;
    };
    const held = [await hold(flood), await hold(flood)];

    for (const { name, path } of INTERFACES) {
      const refused = await ask(path, { key: flood ?? "", text: "Hello." });
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toBe("1");
      const message = expect.stringContaining("your account has 2 requests in flight");
      expect(await refused.json()).toEqual(
        shapeOf(name, { type: ["rate_limit_error", "rate_limit_error"], code: "rate_limit_exceeded", message }),
      );
    }
    held.push(await hold(other), await hold(third));
    for (const { name, path } of INTERFACES) {
      const refused = await ask(path, { key: fourth ?? "", text: "Hello." });
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      const message = expect.stringContaining("at capacity");
      expect(await refused.json()).toEqual(
        shapeOf(name, { type: ["server_error", "overloaded_error"], code: "overloaded", message }),
      );
    }
    // Requests that cost nothing are still answered.
    await known(fourth);

    ends.abort();
    for (const response of held) await expect(response.text()).rejects.toThrow(/abort/);
    await eventually(async () => {
      const response = await ask("/v1/messages", { key: fourth ?? "", text: "Hello." });
      await response.text();
      expect(response.status).toBe(200);
    });
  });
});

describe("an Envoy whose processor has its maximum number of streams", () => {
  const CLUSTER = "model/m/mute/00000001";
  let stack: XdsStack;
  let mute: RecordingUpstream;
  beforeAll(async () => {
    mute = await startRecordingUpstream(() => undefined);
    stack = await startXdsStack({ maxExtprocStreams: 2 });
    stack.xds.push(buildSnapshot({ clusters: new Map([[CLUSTER, loopbackEndpoint(mute.port)]]), secrets: new Map() }));
    await stack.xds.waitForAck(5_000);
    stack.scripts.set("wait", { kind: "route", cluster: CLUSTER });
    stack.scripts.set("answer", { kind: "answer", status: 200, body: "{}", details: "gateway_answer" });
  });
  afterAll(async () => {
    await stack.stop();
    await mute.stop();
  });

  const ask = (path: string, script: string, signal?: AbortSignal) =>
    fetch(stack.url + path, {
      method: "POST",
      headers: { "x-script": script },
      body: "{}",
      signal,
    });

  test("answers 503 with retry-after in the caller's format, and accepts requests again when one has ended", async () => {
    const ends = new AbortController();
    const waiting = [1, 2].map(() => expect(ask("/v1/messages", "wait", ends.signal)).rejects.toThrow(/abort/));
    await eventually(() => expect(mute.requests).toHaveLength(2));
    for (const { name, path } of INTERFACES) {
      const refused = await ask(path, "answer");
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).toBe("1");
      const message = expect.stringContaining("cannot accept this request right now");
      expect(await refused.json()).toEqual(
        shapeOf(name, { type: ["server_error", "overloaded_error"], code: "overloaded", message }),
      );
    }
    ends.abort();
    await Promise.all(waiting);
    await eventually(async () => expect((await ask("/v1/messages", "answer")).status).toBe(200));
  });
});
