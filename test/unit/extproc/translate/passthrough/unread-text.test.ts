import { describe, expect, test } from "vitest";
import { createUnreadText, logprobBytes } from "../../../../../extproc/translate/passthrough/unread-text.ts";

const BIG = "some words ".repeat(1_000);

function find(json: object, countedBytes = 0): number {
  return createUnreadText().find({ data: JSON.stringify(json), json: { ...json }, countedBytes });
}

describe("text that a client can read outside the counted text (S38)", () => {
  test.for<[string, object]>([
    ["a value", { id: BIG }],
    ["a member's name", { [BIG]: 1 }],
    ["a value at any depth", { a: [[{ b: [BIG] }]] }],
    ["many short values", { a: Array.from({ length: 2_000 }, (_, index) => `w${index}`) }],
    ["text in the place of a signature", { signature: BIG }],
    ["text behind base64", { data: "A".repeat(64) + BIG }],
    ["text in the place of a picture", { url: `data:image/png;base64,${BIG}` }],
  ])("counts beyond 4 KiB: %s", ([, json]) => {
    const bytes = JSON.stringify(json).length;
    expect(find(json)).toBeGreaterThan(bytes / 2 - 4_200);
    expect(find(json)).toBeLessThan(bytes - 4_096);
  });

  test("a duplicate member is counted, whichever of the two the client reads", () => {
    const data = `{"id":${JSON.stringify(BIG)},"id":"c"}`;
    expect(createUnreadText().find({ data, json: { id: "c" }, countedBytes: 0 })).toBeGreaterThan(6_000);
  });

  test("escapes count as the characters that they represent", () => {
    const id = "\u4e2d\u6587 \"'\\".repeat(1_000) + "end";
    const data = `{"id":${JSON.stringify(id).replaceAll(/[\u4e2d\u6587]/g, (letter) => String.raw`\u${letter.charCodeAt(0).toString(16)}`)}}`;
    expect(createUnreadText().find({ data, json: { id }, countedBytes: 0 })).toBe(find({ id }));
  });

  test("repeated text is not counted again", () => {
    expect(find({ text: BIG }, BIG.length)).toBe(0);
    expect(find({ reasoning: BIG, reasoning_content: BIG }, BIG.length)).toBe(0);
    const unread = createUnreadText();
    const json = { id: "c".repeat(200), object: "chat.completion.chunk", model: "m".repeat(200) };
    const found = Array.from({ length: 1_000 }, () => unread.find({ data: JSON.stringify(json), json, countedBytes: 0 }));
    expect(found).toEqual(found.map(() => 0));
  });

  test("ids that differ from event to event are free", () => {
    const unread = createUnreadText();
    for (let event = 0; event < 10_000; event++) {
      const json = { id: `chatcmpl-${String(event).padStart(36, "0")}` };
      expect(unread.find({ data: JSON.stringify(json), json, countedBytes: 0 })).toBe(0);
    }
  });

  test("base64 counts one token per KiB", () => {
    expect(find({ data: "QUJD".repeat(16_384) })).toBeGreaterThanOrEqual(255);
    expect(find({ data: "QUJD".repeat(16_384) })).toBeLessThanOrEqual(256);
  });

  test("log probabilities are free as far as they are tokens and twenty alternatives", () => {
    const alternatives = (count: number) => Array.from({ length: count }, () => ({ token: "abcd" }));
    const choices = (content: object[]) => [{ logprobs: { content } }];
    expect(logprobBytes(choices([{ token: "abcd", top_logprobs: alternatives(20) }]), 4)).toBe(84);
    expect(logprobBytes(choices([{ token: "abcd", top_logprobs: alternatives(2_000) }]), 4)).toBe(84);
    expect(logprobBytes(choices([{ token: BIG }]), 4)).toBe(64);
    expect(logprobBytes(choices(alternatives(2_000)), 4)).toBe(16);
    expect(logprobBytes("none", 4)).toBe(0);
  });
});
