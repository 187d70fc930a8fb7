import { describe, expect, test } from "vitest";
import { CHAT, chunk, DONE, play } from "./play.ts";

describe("a last event that repeats the whole message, as MiniMax sends it (S28)", () => {
  const contentChunk = (index: number, content: string, role: object = {}) =>
    chunk({}, { choices: [{ index, delta: { ...role, content }, finish_reason: null }] });
  const began = { role: "assistant" };
  const whole = (index: number, message: object, more: object = {}) =>
    chunk({}, { choices: [{ index, delta: {}, message, finish_reason: "stop", ...more }] });
  const counted = (events: readonly string[], n = 1) => {
    const stream = [start, ...events, DONE];
    const text = stream.join("");
    const runs = [[text], stream].map((chunks) => play({ ...CHAT, n }, chunks.map(Buffer.from), { protocol: "chat" }));
    expect(runs.map((run) => run.text)).toEqual([text, text]);
    expect(runs[1]?.metered).toEqual(runs[0]?.metered);
    return runs[0]?.metered.usage.outputTokens;
  };
  const deltas = ["x".repeat(20), "y".repeat(20)].map((content) => contentChunk(0, content));
  const start = contentChunk(0, "", began);
  const content = "x".repeat(20) + "y".repeat(20);

  test("is counted once, whether or not reasoning is repeated", () => {
    expect(counted([...deltas, whole(0, { role: "assistant", content })])).toBe(10);
    expect(counted([...deltas, whole(0, { content }, { delta: { content: "" } })])).toBe(10);
    const thought = chunk({}, { choices: [{ index: 0, delta: { reasoning_content: "z".repeat(40) }, finish_reason: null }] });
    expect(counted([thought, ...deltas, whole(0, { content })])).toBe(20);
    expect(counted([thought, ...deltas, whole(0, { content, reasoning_content: "z".repeat(40) })])).toBe(20);
  });

  test("of several answers, each is counted once", () => {
    const second = contentChunk(1, "z".repeat(40), began);
    const wholes = [whole(0, { content }), whole(1, { content: "z".repeat(40) })];
    expect(counted([...deltas, second, ...wholes], 2)).toBe(20);
  });

  test("is counted if it contains more than the deltas, or is repeated itself", () => {
    expect(counted([whole(0, { content })])).toBe(10);
    expect(counted([...deltas, whole(0, { content: `${content}${content}` })])).toBe(30);
    expect(counted([...deltas, whole(0, { content }), whole(0, { content })])).toBe(20);
  });
});
