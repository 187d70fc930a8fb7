import { expect, test } from "vitest";
import { sizePrompt, type PromptSize } from "../../../../extproc/meter/prompt-size.ts";
import { createRequestMeter } from "../../../../extproc/meter/request-meter.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import type { RequestBody } from "../../../../extproc/protocol/json/request-body.ts";

const PNG = `iVBORw0KGgo${"A".repeat(6_000_000)}`;
const PDF = `JVBERi0xLjQ${"A".repeat(300_000)}`;
const chat = (...content: object[]) => ({ messages: [{ role: "user", content }] });

function bodyOf(request: object): RequestBody {
  return parseBody(Buffer.from(JSON.stringify(request)), { headers: new Map(), interface: "chat" });
}

function sizeOf(request: object): PromptSize {
  return sizePrompt(bodyOf(request));
}

test.for([
  ["chat", chat({ type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } })],
  ["messages", chat({ type: "image", source: { type: "base64", media_type: "image/png", data: PNG } })],
  [
    "a result of a tool",
    chat({ type: "tool_result", tool_use_id: "t", content: [{ type: "image", source: { type: "base64", data: PNG } }] }),
  ],
  ["Responses", { input: [{ role: "user", content: [{ type: "input_image", image_url: `data:image/png;base64,${PNG}` }] }] }],
  ["a reference", chat({ type: "image_url", image_url: { url: "https://example.test/a.png" } })],
] as const)("a picture costs 1,600 tokens whatever its bytes: %s", ([, request]) => {
  const { images, files, tokens } = sizeOf(request);
  expect({ images, files }).toEqual({ images: 1, files: 0 });
  expect(tokens).toBeGreaterThanOrEqual(1_600);
  expect(tokens).toBeLessThan(1_700);
});

test.for([
  ["chat", chat({ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` } })],
  ["messages", chat({ type: "document", source: { type: "base64", media_type: "application/pdf", data: PDF } })],
] as const)("a PDF is charged by its size: %s", ([, request]) => {
  expect(sizeOf(request)).toMatchObject({ images: 0, files: 1 });
  // 300,000 characters of base64 are five pages.
  expect(sizeOf(request).tokens).toBeGreaterThanOrEqual(10_000);
  expect(sizeOf(request).tokens).toBeLessThan(10_100);
});

test("text costs one token per four bytes, wherever it is", () => {
  const text = "some words ".repeat(10_000);
  const requests = [
    chat({ type: "text", text }),
    { messages: [{ role: "user", content: text }] },
    chat({ type: "document", source: { type: "text", media_type: "text/plain", data: text } }),
    chat({ type: "file", file: { file_data: `data:text/plain;base64,${PNG.slice(0, text.length)}` } }),
  ];
  for (const request of requests) expect(sizeOf(request).tokens).toBeGreaterThanOrEqual(text.length / 4);
  // Text is text, also without blanks.
  expect(sizeOf({ messages: [{ role: "user", content: PNG }] }).tokens).toBeGreaterThan(1_000_000);
});

test("our own count never exceeds the context window or the hold", () => {
  const likelyPromptTokens = sizeOf({ messages: [{ role: "user", content: PNG }] }).tokens;
  const promptTokens = (contextWindow: number | null, heldPromptTokens: number) =>
    createRequestMeter({
      likelyPromptTokens,
      heldPromptTokens,
      answers: 1,
      outputTokens: 1_000,
      isCompacting: false,
      model: { contextWindow, maxOutputTokens: 1_000 },
    }).final().usage.inputTokens;
  expect(promptTokens(200_000, 1_000_000)).toBe(200_000);
  expect(promptTokens(200_000, 100)).toBe(100);
  expect(promptTokens(null, 1_000_000)).toBe(1_000_000);
});
