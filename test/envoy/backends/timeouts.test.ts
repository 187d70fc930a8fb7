import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeBackendManifests, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { eventually } from "../../support/eventually.ts";
import { startFailingUpstream, type Behaviour, type FailingUpstream } from "../../support/servers/failing-upstream.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** The times that a Model names, through a real Envoy: what the caller sees of each, and what it pays (S22, S28). */
let stack: TestProduct;
let upstream: FailingUpstream;
let removeManifests: () => Promise<void>;

const INTERFACES = [
  { name: "chat", path: "/v1/chat/completions" },
  { name: "messages", path: "/v1/messages" },
] as const;
/** With one backend, and with two. */
const SIZES = ["single", "several"] as const;
const FORMS = SIZES.flatMap((size) => INTERFACES.map((each) => ({ size, ...each })));

beforeAll(async () => {
  upstream = await startFailingUpstream();
  // Each form has its own Models: the forms run side by side.
  const models = FORMS.flatMap(({ size, name: form }) => {
    const prefix = `${size}-${form}`;
    const model = (
      name: string,
      timeouts: TestModelOfMany["timeouts"],
      behaviour: Behaviour = { kind: "answer" },
    ): TestModelOfMany => {
      const url = upstream.url(`${prefix}-${name}`, behaviour);
      const first = { name: "first", protocol: "chat", url } as const;
      return {
        name: `${prefix}-${name}`,
        timeouts,
        backends: size === "single" ? [first] : [first, { ...first, name: "spare", priority: 1 }],
      };
    };
    return [
      model("first-byte", { firstByte: "2s" }),
      model("half", { firstByte: "2s" }, { kind: "half" }),
      model("idle", { idle: "2s" }),
      model("whole", { whole: "3s" }),
      model("patient", { firstByte: "1h", idle: "1h", whole: "24h" }),
    ];
  });
  const { directory, remove } = await makeBackendManifests(models);
  removeManifests = remove;
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n, manifestsDirectory: directory });
});
afterAll(async () => {
  await stack.stop();
  await upstream.stop();
  await removeManifests();
});

const ask = (path: string, model: string, content: string, isStream = false) =>
  fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, max_tokens: 64, stream: isStream, messages: [{ role: "user", content }] }),
  });

describe.concurrent("a Model's timeouts", () => {
  describe.for(FORMS)("with a $size backend, on the $name interface", ({ size, name, path }) => {
    const prefix = `${size}-${name}`;
    test.for([
      ["first-byte", false],
      ["first-byte", true],
      ["whole", false],
      ["whole", true],
    ] as const)("a server that is silent beyond `%s` is a free 504 (stream: %s)", async ([kind, isStream]) => {
      // Each form asks twice: a first failure must not change what the second sees.
      for (let turn = 0; turn < 2; turn++) {
        const response = await ask(path, `${prefix}-${kind}`, "Wait. [[sim stall]]", isStream);
        expect(response.status).toBe(504);
        expect(response.headers.get("content-type")).toBe("application/json");
        const requestId = response.headers.get("x-request-id") ?? "";
        expect(response.headers.get("request-id")).toBe(requestId);
        const error = {
          message: expect.stringMatching(/^The model server did not answer in time\. Try again\.( 2 servers were tried\.)?$/),
        };
        expect(await response.json()).toEqual(
          name === "chat"
            ? { error: { ...error, type: "server_error", param: null, code: "upstream_timeout" } }
            : { type: "error", error: { ...error, type: "timeout_error" }, request_id: requestId },
        );
        expect(await stack.usageOf(requestId)).toEqual([
          expect.objectContaining({ outcome: "failed", httpStatus: 504, chargeNanoUsd: 0n }),
        ]);
      }
      await eventually(() => expect(upstream.seen(`${prefix}-${kind}`).every(({ isOver }) => isOver)).toBe(true));
    });

    test("a complete answer that stops half-way is a free 504, and no other server is tried", async () => {
      const before = upstream.seen(`${prefix}-half`).length;
      const response = await ask(path, `${prefix}-half`, "Wait.");
      expect(response.status).toBe(504);
      expect(await response.text()).toContain("The model server did not answer in time. Try again.");
      expect(await stack.usageOf(response.headers.get("x-request-id") ?? "")).toEqual([
        expect.objectContaining({ outcome: "failed", httpStatus: 504, chargeNanoUsd: 0n }),
      ]);
      expect(upstream.seen(`${prefix}-half`)).toHaveLength(before + 1);
      await eventually(() => expect(upstream.seen(`${prefix}-half`).every(({ isOver }) => isOver)).toBe(true));
    });

    test.for(["idle", "whole"])("a stream that is silent beyond `%s` ends with an error event, and is charged", async (kind) => {
      const response = await ask(path, `${prefix}-${kind}`, "Wait. [[sim stall=8 tokens=40]]", true);
      expect(response.status).toBe(200);
      const requestId = response.headers.get("x-request-id") ?? "";
      const text = await response.text();
      expect(text).toMatch(name === "chat" ? /\n\ndata: \{"error":.*\nevent: error\n\n$/ : /\n\nevent: error\ndata: .*\n\n$/);
      expect(text).toContain("The model server did not answer in time. Try again.");
      expect(text).not.toMatch(/\[DONE\]|message_stop/);
      const [usage] = await stack.usageOf(requestId);
      expect(usage).toMatchObject({ outcome: "failed", isEstimated: true });
      expect(usage?.usage.outputTokens).toBeGreaterThan(0);
      expect(usage?.chargeNanoUsd).toBeGreaterThan(0n);
      await eventually(() => expect(upstream.seen(`${prefix}-${kind}`).every(({ isOver }) => isOver)).toBe(true));
    });

    test("a stream that sends something now and then continues beyond `idle` to its own end", async () => {
      const response = await ask(path, `${prefix}-idle`, "Slowly. [[sim tokens=40 chunk-ms=100]]", true);
      expect(await response.text()).toContain(name === "chat" ? "[DONE]" : "message_stop");
    });

    test("a Model may set long timeouts", async () => {
      for (const isStream of [false, true]) {
        const response = await ask(path, `${prefix}-patient`, "Wait. [[sim delay-ms=4000]]", isStream);
        expect(response.status).toBe(200);
        await response.text();
      }
      const names = upstream.seen(`${prefix}-patient`).flatMap(({ headers }) => Object.keys(headers));
      expect(names.filter((header) => /^x-(gateway|envoy)/.test(header))).toEqual([]);
    });
  });
});

test("no timer is left running, and there was no internal failure", async () => {
  const metrics = await stack.idle();
  expect(metrics.get("gateway_internal_failures_total")).toBe(0);
  expect(metrics.get("gateway_open_holds")).toBe(0);
});
