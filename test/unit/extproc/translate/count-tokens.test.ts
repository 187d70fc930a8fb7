import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateInputTokens } from "../../../../extproc/translate/count-tokens/estimate.ts";

const hello = [{ role: "user", content: "x".repeat(400) }];

describe("estimate of input tokens (S16)", () => {
  test("four bytes of text make a token, and each message adds a little", () => {
    expect(estimateInputTokens({ messages: hello })).toBe(4 + 101);
    expect(estimateInputTokens({ messages: [...hello, ...hello] })).toBe(8 + 202);
  });

  test("works with any part missing", () => {
    expect(estimateInputTokens({})).toBe(0);
    expect(estimateInputTokens({ model: "m" })).toBe(0);
    expect(estimateInputTokens({ system: "x".repeat(40) })).toBe(10);
    expect(
      estimateInputTokens({ tools: [{ name: "Read", description: "Reads a file.", input_schema: { type: "object" } }] }),
    ).toBeGreaterThan(4);
  });

  test("an image costs the same whatever its bytes", () => {
    const image = (data: string) => ({
      messages: [{ role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data } }] }],
    });
    expect(estimateInputTokens(image("A"))).toBe(estimateInputTokens(image("A".repeat(1_000_000))));
    expect(estimateInputTokens(image("A"))).toBeGreaterThan(1_000);
  });

  test("a PDF costs by its size", () => {
    const pdf = (data: string) => ({
      messages: [
        { role: "user", content: [{ type: "document", source: { type: "base64", media_type: "application/pdf", data } }] },
      ],
    });
    expect(estimateInputTokens(pdf("A".repeat(1_000_000)))).toBeGreaterThan(10 * estimateInputTokens(pdf("A")));
  });

  test("images inside tool results are found", () => {
    const content = [
      { type: "tool_result", tool_use_id: "a", content: [{ type: "image", source: { type: "url", url: "https://x" } }] },
    ];
    expect(estimateInputTokens({ messages: [{ role: "user", content }] })).toBeGreaterThan(1_600);
  });

  test("parts that a model never reads cost nothing", () => {
    const plain = { messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }] };
    const marked = {
      messages: [{ role: "user", content: [{ type: "text", text: "hello", cache_control: { type: "ephemeral", ttl: "1h" } }] }],
      metadata: { user_id: "x".repeat(400) },
    };
    expect(estimateInputTokens(marked)).toBe(estimateInputTokens(plain));
  });

  test("more text never counts less", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, more) => {
        const count = (content: string) => estimateInputTokens({ messages: [{ role: "user", content }] });
        expect(count(one + more)).toBeGreaterThanOrEqual(count(one));
      }),
    );
  });

  test("nesting deeper than the stack is counted", () => {
    const deep: unknown = JSON.parse(`${'{"a":['.repeat(100_000)}"x"${"]}".repeat(100_000)}`);
    expect(estimateInputTokens({ tools: [{ name: "f", input_schema: deep }] })).toBeGreaterThan(100_000);
  });
});
