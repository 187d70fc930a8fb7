import { describe, expect, test } from "vitest";
import { holdPrompt } from "../../../../extproc/meter/held-prompt.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";

const WINDOW = 200_000;

function held(request: object, contextWindow: number | null = WINDOW): number {
  const body = Buffer.from(JSON.stringify(request));
  return holdPrompt(parseBody(body, { headers: new Map(), interface: "chat" }), contextWindow);
}

const turn = (...content: object[]) => ({ messages: [{ role: "user", content }] });
const text = { type: "text", text: "What is this?" };
const bytesOf = (request: object) => Math.ceil(JSON.stringify(request).length / 3);

test("text is held at three bytes per token, and never for more than the context window (S30)", () => {
  expect(held(turn(text))).toBe(bytesOf(turn(text)));
  expect(held(turn({ type: "text", text: "x".repeat(700_000) }))).toBe(WINDOW);
});

describe("a picture is held at 16,384 tokens in addition to its bytes, inline or by reference (S30)", () => {
  test.for([
    ["chat", turn({ type: "image_url", image_url: { url: "https://example.test/a.png" } })],
    ["chat, without a type", turn({ image_url: { url: "https://example.test/a.png" } })],
    ["chat, called text", turn({ type: "text", image_url: { url: "https://example.test/a.png" } })],
    ["messages", turn({ type: "image", source: { type: "url", url: "https://example.test/a.png" } })],
    ["messages, by id", turn({ type: "image", source: { type: "file", file_id: "f" } })],
    ["messages, inline", turn({ type: "image", source: { type: "base64", data: "iVBORw0KGgo" } })],
    ["a result of a tool", turn({ type: "tool_result", content: [{ type: "image", source: { type: "url", url: "u" } }] })],
    ["Responses", { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }],
    ["Responses, from a function", { input: [{ type: "function_call_output", output: [{ type: "input_image" }] }] }],
  ] as const)("%s", ([, request]) => {
    expect(held(request)).toBe(bytesOf(request) + 16_384);
  });

  test("each of several", () => {
    const request = turn(...Array.from({ length: 3 }, () => ({ type: "image_url", image_url: { url: "u" } })));
    expect(held(request)).toBe(bytesOf(request) + 3 * 16_384);
  });
});

describe("anything else that a request only refers to is held at the whole context window (S30)", () => {
  test.for([
    ["a file's id", turn({ type: "file", file: { file_id: "f" } })],
    ["a file's id beside its data", turn({ type: "file", file: { file_id: "f", file_data: "x" } })],
    ["a document's URL", turn({ type: "document", source: { type: "url", url: "u" } })],
    ["a document's id", turn({ type: "document", source: { type: "file", file_id: "f" } })],
    ["a document in a result of a tool", turn({ type: "tool_result", content: [{ type: "document", source: { type: "url" } }] })],
    ["a video's URL", turn({ type: "video_url", video_url: { url: "u" } })],
    ["an audio's URL", turn({ type: "audio_url", audio_url: { url: "u" } })],
    ["an earlier answer's audio", { messages: [{ role: "assistant", audio: { id: "a" } }] }],
    ["a part of an unknown type", turn({ type: "dataset", id: "d" })],
    ["a file under text's name", turn({ type: "text", file_id: "f" })],
    ["Responses, by URL", { input: [{ role: "user", content: [{ type: "input_file", file_url: "u" }] }] }],
    ["an earlier response", { ...turn(text), previous_response_id: "r" }],
    ["a tool that the server runs", { ...turn(text), tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    ["a part too deep to look into", turn(nested(8))],
  ] as const)("%s", ([, request]) => {
    expect(held(request)).toBe(WINDOW);
    expect(held(request, null)).toBeGreaterThanOrEqual(200_000);
  });
});

test("inline files, and the client's own tools, are held by their bytes", () => {
  const requests = [
    turn({ type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ" } }),
    turn({ type: "document", source: { type: "text", data: "plain" } }),
    turn({ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0" } }),
    turn({ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }),
    {
      ...turn(text),
      tools: [{ type: "function", function: { name: "f" } }, { name: "g" }, { type: "bash_20250124", name: "bash" }],
    },
    { messages: [{ role: "user", content: "plain" }], previous_response_id: null },
  ];
  for (const request of requests) expect(held(request)).toBe(bytesOf(request));
});

function nested(depth: number): object {
  return depth === 0 ? text : { type: "tool_result", content: [nested(depth - 1)] };
}
