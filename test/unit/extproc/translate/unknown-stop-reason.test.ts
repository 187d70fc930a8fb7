import { expect, test } from "vitest";
import type { Interface, Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { captureLog } from "../../../support/stacks/log.ts";
import { createEvents } from "../../../../extproc/events.ts";
import { startTestRun } from "../../../support/billing/run.ts";
import { Registry } from "prom-client";
import type { Hold } from "../../../../extproc/credit/hold.ts";
import { inputFor } from "./input.ts";

const PLAIN = { model: "modelx-v4-pro", max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

/** An answer that ends for this reason, in each protocol. */
const ANSWERS = {
  chat: (reason) => ({
    id: "c",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: reason }],
  }),
  messages: (reason) => ({
    id: "m",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: reason,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
  responses: (reason) => ({
    id: "r",
    object: "response",
    status: "incomplete",
    incomplete_details: { reason },
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello", annotations: [] }] }],
  }),
} as const satisfies Record<Protocol, (reason: string | null) => object>;
const OTHER = { chat: "messages", messages: "chat", responses: "chat" } as const satisfies Record<Protocol, Interface>;

function reasonAfter(upstream: Protocol, reason: string | null): string | null {
  const meter = createMeter(1);
  const translation = createTranslation(OTHER[upstream], inputFor(PLAIN, { upstream }));
  translation.response(Buffer.from(JSON.stringify(ANSWERS[upstream](reason))), meter);
  return meter.unknownReason();
}

test.for(["chat", "messages", "responses"] as const)("%s: an unknown stop reason is recorded, truncated", (upstream) => {
  expect(reasonAfter(upstream, "tired")).toBe("tired");
  expect(reasonAfter(upstream, "t".repeat(100_000))).toBe("t".repeat(64));
});

test.for([
  ["chat", "stop"],
  ["chat", "STOP"],
  ["chat", "MAX_TOKENS"],
  ["chat", "model_length"],
  ["chat", null],
  ["messages", "end_turn"],
  ["messages", "pause_turn"],
  ["messages", null],
  ["responses", "max_output_tokens"],
  ["responses", null],
] as const)("%s: %s is not recorded", ([upstream, reason]) => {
  expect(reasonAfter(upstream, reason)).toBeNull();
});

test("a run that ends for an unknown reason is logged and counted, without a key that the server repeats", async () => {
  const { log, lines } = captureLog();
  const metrics = new Registry();
  const events = createEvents({ log, accessLog: "off", metrics });
  const hold: Hold = { heldNanoUsd: () => 1n, cover: () => "covered", settle: () => "lease", release() {} };
  const { run } = startTestRun({ hold, events });
  run.meter.noteUnknownReason("tired of sk-abcdefghijklmnop\n");
  run.settle("complete", 200);
  expect(await metrics.metrics()).toMatch(/^gateway_unknown_stop_reasons_total\{model="[^"]+"\} 1$/m);
  const entry: unknown = JSON.parse(lines.find((line) => line.includes("unknown stop reason")) ?? "null");
  expect(entry).toMatchObject({ reason: "tired of [redacted] " });
});
