import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { openStreams } from "../../support/wire/header-references.ts";
import { startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

let stack: XdsStack;
beforeAll(async () => {
  stack = await startXdsStack({ maxHeapBytes: 64 * 1024 * 1024 });
  stack.scripts.set("answer", { kind: "answer", status: 200, body: "{}", details: "scripted" });
  stack.scripts.set("wait", { kind: "close" });
});
afterAll(() => stack.stop());

const ask = async () => {
  const answer = await fetch(`${stack.url}/v1/models`, { headers: { "x-script": "answer" } });
  return { status: answer.status, body: await answer.json() };
};

test("a full heap refuses requests with 503 instead of ending Envoy, and serves again once there is room", async () => {
  expect(await ask()).toMatchObject({ status: 200 });
  const clients = Array.from({ length: 16 }, () => openStreams(stack.url, { streams: 128, references: 7 }));
  try {
    await eventually(async () => expect(await ask()).toMatchObject({ status: 503, body: { error: { code: "overloaded" } } }));
    expect(await stack.envoy.admin("/ready")).toContain("LIVE");
  } finally {
    for (const client of clients) client.close();
  }
  await eventually(async () => expect(await ask()).toMatchObject({ status: 200 }), { withinMs: 30_000 });
});
