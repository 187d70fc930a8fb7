import { expect, test } from "vitest";
import { PROFILES } from "../../../../../contract/profile.ts";
import { createSigner } from "../../../../../extproc/translate/conversation/signature.ts";
import { sealReasoning } from "../../../../../extproc/translate/conversation/sealed-reasoning.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

/** What a messages server gets of a conversation that another model began. */
function sent(content: readonly object[]): unknown {
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content },
    { role: "user", content: "b" },
  ];
  const request = { model: "upstream-model", max_tokens: 50, messages };
  const { upstream } = createTranslation(
    "messages",
    inputFor(request, { upstream: "messages", upstreamModel: "upstream-model" }),
  );
  const body: { messages: unknown } = JSON.parse(upstream.body.toString());
  return body.messages;
}

const TEXT = { type: "text", text: "said" };
const OWN = { type: "thinking", thinking: "A", signature: createSigner("modelx-v4-pro").sign() };
const SEALED = { type: "thinking", thinking: "B", signature: sealReasoning({ model: "m", id: "rs_1", encrypted: "gAAAA" }) };
const UNSIGNED = { type: "thinking", thinking: "C", signature: "" };
const SIGNED = { type: "thinking", thinking: "D", signature: "EqQBCgIYAhIM" };

test("thinking that the gateway signed or sealed, or that nobody signed, is removed from a messages passthrough", () => {
  expect(sent([OWN, SEALED, UNSIGNED, SIGNED, TEXT])).toEqual([
    { role: "user", content: "a" },
    { role: "assistant", content: [SIGNED, TEXT] },
    { role: "user", content: "b" },
  ]);
});

test("a turn with nothing else is removed", () => {
  expect(sent([OWN])).toEqual([
    { role: "user", content: "a" },
    { role: "user", content: "b" },
  ]);
});

test("a conversation with one server passes byte for byte", () => {
  const request = `{"model":"upstream-model", "max_tokens":50,"messages":[ {"role":"assistant","content":[${JSON.stringify(SIGNED)} ]}]}`;
  const input = inputFor(request, { upstream: "messages", upstreamModel: "upstream-model" });
  expect(createTranslation("messages", input).upstream.body.toString()).toBe(request);
});

const USE = { type: "tool_use", id: "t1", name: "f", input: {} };
const BUDGET = { type: "enabled", budget_tokens: 1_024 };

/** What a messages server gets of a conversation in the middle of its calls. */
function sentMidway(content: readonly object[], thinking: object | undefined) {
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "ok" }] },
  ];
  const request = { model: "m", max_tokens: 5_000, messages, thinking };
  const { upstream, dropped } = createTranslation("messages", inputFor(request, { upstream: "messages", upstreamModel: "m" }));
  const body: { messages: { content: unknown }[]; thinking?: unknown } = JSON.parse(upstream.body.toString());
  return { content: body.messages[1]?.content, thinking: body.thinking, dropped };
}

test("calls from another model are answered without a thinking budget, which a server would reject", () => {
  const off = { content: [USE], thinking: { type: "disabled" }, dropped: ["thinking"] };
  expect(sentMidway([OWN, USE], BUDGET)).toEqual(off);
  expect(sentMidway([UNSIGNED, USE], BUDGET)).toEqual(off);
});

test("thinking of any other kind, or before the server's own calls, stays as requested", () => {
  expect(sentMidway([OWN, USE], { type: "adaptive" })).toEqual({ content: [USE], thinking: { type: "adaptive" }, dropped: [] });
  expect(sentMidway([OWN, USE], undefined)).toEqual({ content: [USE], thinking: undefined, dropped: [] });
  expect(sentMidway([SIGNED, OWN, USE], BUDGET)).toEqual({ content: [SIGNED, USE], thinking: BUDGET, dropped: [] });
  expect(sentMidway([SIGNED, USE], BUDGET)).toEqual({ content: [SIGNED, USE], thinking: BUDGET, dropped: [] });
});

/** What a Responses server gets of this input. */
function sentInput(input: readonly object[], profile: keyof typeof PROFILES): unknown {
  const request = { model: "upstream-model", input };
  const options = { upstream: "responses", upstreamModel: "upstream-model", flags: PROFILES[profile] } as const;
  const { upstream } = createTranslation("responses", inputFor(request, options));
  const body: { input: unknown } = JSON.parse(upstream.body.toString());
  return body.input;
}

test("a Responses server gets reasoning by its id alone only if it may read its text", () => {
  const question = { type: "message", role: "user", content: "a" };
  const encrypted = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
  const byId = { type: "reasoning", id: "rs_2", summary: [{ type: "summary_text", text: "A" }], encrypted_content: null };
  const empty = { type: "reasoning", id: "rs_3", summary: [] };
  expect(sentInput([question, encrypted, byId, empty], "openai")).toEqual([question, encrypted]);
  expect(sentInput([question, encrypted, byId, empty], "vllm")).toEqual([question, encrypted, byId, empty]);
});

test("a reference to reasoning is removed for a Responses server, and others are refused", () => {
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: "c", output: "r" };
  for (const profile of ["openai", "vllm"] as const) {
    expect(sentInput([{ type: "item_reference", id: "rs_1" }, call, output], profile)).toEqual([call, output]);
    expect(() => sentInput([{ type: "item_reference", id: "msg_1" }], profile)).toThrow("Send the item itself");
  }
});
