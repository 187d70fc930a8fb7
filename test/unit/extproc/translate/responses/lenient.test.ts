import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayBlocks, replayMessages } from "../replay.ts";

/** What servers of the Responses protocol send that OpenAI's own service does not. */

const HEAD = { model: "m", max_tokens: 1_000 };
const MESSAGES = [{ role: "user", content: "hi" }];
const USAGE = { input_tokens: 100, output_tokens: 40, total_tokens: 140 };

function sse(events: readonly object[]): Buffer {
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

function play(events: readonly object[], client: Protocol = "messages") {
  const body = { ...HEAD, stream: true, ...(client === "responses" ? { input: "hi" } : { messages: MESSAGES }) };
  const meter = createMeter(5, { outputTokens: 1_000 });
  const stream = createTranslation(client, inputFor(body, { upstream: "responses" })).stream(meter);
  const text = String(stream.push(sse(events))) + String(stream.end());
  return { text, outcome: stream.outcome(), metered: meter.final() };
}

/** The content blocks that a Messages client puts together. */
function blocksOf(text: string): object[] {
  const blocks: { type: string; content: string }[] = [];
  for (const line of text.split("\n").filter((candidate) => candidate.startsWith("data: "))) {
    const { type, index, content_block: block, delta } = JSON.parse(line.slice("data: ".length));
    if (type === "content_block_start") blocks[index] = { type: block.name ?? block.type, content: "" };
    const open = blocks[index];
    if (type === "content_block_delta" && open !== undefined)
      open.content += delta.text ?? delta.thinking ?? delta.partial_json ?? "";
  }
  return blocks;
}

/** Blocks that a stream has open at the same time, at most. */
function openAtOnce(text: string): number {
  let open = 0;
  let most = 0;
  for (const [, type] of text.matchAll(/^event: content_block_(start|stop)$/gm)) {
    open += type === "start" ? 1 : -1;
    most = Math.max(most, open);
  }
  return most;
}

function message(text: string, id = "msg_1") {
  return {
    type: "message",
    id,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function completed(output: readonly object[] | null, more: object = {}) {
  return {
    type: "response.completed",
    response: { id: "resp_1", object: "response", status: "completed", output, usage: USAGE, ...more },
  };
}

describe("a stream whose events have no positions", () => {
  const thought = { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
  const call = (id: string, input: string) => ({ type: "function_call", call_id: id, name: "look", arguments: input });
  const added = (item: object) => ({ type: "response.output_item.added", item });
  const done = (item: object) => ({ type: "response.output_item.done", item });
  const text = (delta: string) => ({ type: "response.output_text.delta", item_id: "msg_1", delta });
  const piece = (id: string, delta: string) => ({ type: "response.function_call_arguments.delta", item_id: id, delta });
  const output = [thought, message("Good day."), call("fc_a", '{"at":1}'), call("fc_b", '{"at":2}')];
  const opening = [
    { type: "response.created", response: { id: "resp_1", object: "response", status: "in_progress" } },
    added({ ...thought, content: [] }),
    { type: "response.reasoning_text.delta", item_id: "rs_1", delta: "Hm." },
    added({ ...message(""), content: [] }),
    text("Good "),
    text("day."),
    added(call("fc_a", "")),
    piece("fc_a", '{"at":'),
    added(call("fc_b", "")),
    piece("fc_b", '{"at":2}'),
    piece("fc_a", "1}"),
  ];
  const BLOCKS = [
    { type: "thinking", content: "Hm." },
    { type: "text", content: "Good day." },
    { type: "look", content: '{"at":1}' },
    { type: "look", content: '{"at":2}' },
  ];

  test.for([
    ["that ends with all items", [...output.map(done), completed(output)]],
    ["that ends with them in another order", [...output.map(done), completed(output.toReversed())]],
    ["that does not finish its items", [completed(output)]],
    ["that does not finish them, in another order", [completed(output.toReversed())]],
  ] as const)("%s", ([, ending]) => {
    const { text: sent, outcome, metered } = play([...opening, ...ending]);
    expect(outcome).toBe("complete");
    expect(blocksOf(sent)).toEqual(BLOCKS);
    expect(metered).toMatchObject({ usage: { inputTokens: 100, outputTokens: 40 }, isEstimated: false });
  });

  test("that finishes its items last, has one block open at a time for Anthropic's SDK", async () => {
    const { text: sent } = play([...opening, ...output.map(done), completed(output)]);
    expect(openAtOnce(sent)).toBe(1);
    const blocks = [
      { type: "thinking", thinking: "Hm.", signature: expect.stringMatching(/.{8,}/) },
      { type: "text", text: "Good day." },
      { type: "tool_use", name: "look", input: { at: 1 } },
      { type: "tool_use", name: "look", input: { at: 2 } },
    ];
    expect(await replayBlocks(sent)).toMatchObject(blocks);
    expect((await replayMessages(sent)).content).toMatchObject(blocks);
  });

  test("sends text at once, whatever is still open", () => {
    const { text: sent } = play(opening.slice(0, 6));
    expect(sent).toContain("Good ");
    expect(openAtOnce(sent)).toBe(1);
  });

  test("that alternates between its items, has a block for each piece", () => {
    const thinking = (delta: string) => ({ type: "response.reasoning_text.delta", item_id: "rs_1", delta });
    const { text: sent } = play([...opening.slice(0, 6), thinking(" So."), text(" Bye."), ...output.slice(0, 2).map(done)]);
    expect(openAtOnce(sent)).toBe(1);
    expect(blocksOf(sent)).toEqual([
      { type: "thinking", content: "Hm." },
      { type: "text", content: "Good day." },
      { type: "thinking", content: " So." },
      { type: "text", content: " Bye." },
    ]);
  });

  test("whose call never ends, ends with an error once too much waits for it", () => {
    const more = Array.from({ length: 33 }, () => text("x".repeat(1024 * 1024)));
    const { text: sent, outcome } = play([...opening.slice(0, 8), ...more]);
    expect(outcome).toBe("failed");
    expect(sent).toContain("The model server's answer is too large.");
  });

  test("whose credit runs out, has all that waited for a call", () => {
    const body = { ...HEAD, stream: true, messages: MESSAGES };
    const meter = createMeter(5, { outputTokens: 1_000 });
    const stream = createTranslation("messages", inputFor(body, { upstream: "responses" })).stream(meter);
    const sent = String(stream.push(sse(opening.slice(0, -1)))) + String(stream.stopForCredit());
    expect(openAtOnce(sent)).toBe(1);
    expect(blocksOf(sent)).toEqual([...BLOCKS.slice(0, 2), { type: "look", content: '{"at":' }, BLOCKS[3]]);
  });

  test("has them for a Responses client that it leaves without output", () => {
    const { text: sent } = play([...opening.slice(0, -1), completed([])], "responses");
    const last = sent.split("\n").findLast((line) => line.startsWith("data: "));
    expect(JSON.parse(last?.slice("data: ".length) ?? "")).toMatchObject({
      response: {
        output: [
          { type: "reasoning", content: [{ text: "Hm." }] },
          { type: "message", content: [{ text: "Good day." }] },
          { type: "function_call", call_id: "fc_a", arguments: '{"at":' },
          { type: "function_call", call_id: "fc_b", arguments: '{"at":2}' },
        ],
      },
    });
  });

  test("that finishes its items last, still signs its thinking", () => {
    const { text: sent } = play([...opening, ...output.map(done), completed(output)]);
    const signed = sent.split("\n").filter((line) => line.includes("signature_delta"));
    expect(signed).toEqual([expect.stringMatching(/"index":0,.*"signature":"[^"]{8,}/)]);
  });

  test("nor names, continues its last item", () => {
    const bare = [
      { type: "response.output_text.delta", delta: "Good " },
      { type: "response.output_text.delta", delta: "day." },
    ];
    const { text: sent, outcome } = play([...bare, completed([message("Good day.")])]);
    expect(outcome).toBe("complete");
    expect(blocksOf(sent)).toEqual([{ type: "text", content: "Good day." }]);
  });

  test("but names of their own in the end, does not repeat its text", () => {
    const { text: sent } = play([...opening.slice(3, 6), done(message("Good day.")), completed([message("Good day.", "other")])]);
    expect(blocksOf(sent)).toEqual([{ type: "text", content: "Good day." }]);
  });

  test("with endless names, ends with an error", () => {
    const endless = Array.from({ length: 20_000 }, (_, index) => added({ type: "message", id: `msg_${index}` }));
    expect(play(endless).outcome).toBe("failed");
  });
});

describe("an ending without the items that were streamed", () => {
  const streamed = [
    { type: "response.created", response: { id: "resp_1" } },
    { type: "response.output_item.added", output_index: 0, item: { ...message(""), content: [] } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: null },
    { type: "response.output_text.delta", output_index: 0, content_index: 0 },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Good day." },
    { type: "response.output_item.done", output_index: 1, item: message("Bye.", "msg_2") },
    { type: "response.output_item.done", output_index: 0, item: message("Good day.") },
  ];
  const endings = [
    ["empty", completed([])],
    ["null", completed(null)],
    ["absent", { type: "response.completed", response: { id: "resp_1", usage: USAGE } }],
  ] as const;

  test.for(endings)("is a complete answer: output %s", ([, ending]) => {
    const { text, outcome, metered } = play([...streamed, ending]);
    expect(outcome).toBe("complete");
    expect(blocksOf(text)).toEqual([
      { type: "text", content: "Good day." },
      { type: "text", content: "Bye." },
    ]);
    expect(metered).toMatchObject({ usage: { outputTokens: 40 }, isEstimated: false });
  });

  test.for(endings)("has them for a Responses client: output %s", ([, ending]) => {
    const { text, outcome, metered } = play([...streamed, ending, ending], "responses");
    expect(outcome).toBe("complete");
    const [last, repeated] = text
      .split("\n")
      .filter((line) => line.startsWith("data: ") && line.includes("response.completed"))
      .map((line): unknown => JSON.parse(line.slice("data: ".length)));
    expect(last).toMatchObject({
      ...ending,
      response: { ...ending.response, output: [message("Good day."), message("Bye.", "msg_2")] },
    });
    // A server could make the stream endless otherwise.
    expect(repeated).not.toHaveProperty("response.output.0");
    expect(metered).toMatchObject({ usage: { outputTokens: 40 } });
  });

  test.for(endings)("makes the same response if JSON was asked for: output %s", ([, ending]) => {
    const input = inputFor({ ...HEAD, input: "hi" }, { upstream: "responses" });
    const meter = createMeter(5, { outputTokens: 1_000 });
    const answer: unknown = JSON.parse(
      createTranslation("responses", input)
        .response(sse([...streamed, ending]), meter)
        .toString(),
    );
    expect(answer).toMatchObject({ output: [message("Good day."), message("Bye.", "msg_2")], usage: USAGE });
    expect(meter.outputBytes()).toBe("Good day.Bye.".length);
  });
});

test("content that is a text is a part", () => {
  const item = { ...message("Good day."), content: "Good day." };
  expect(blocksOf(play([completed([item])]).text)).toEqual([{ type: "text", content: "Good day." }]);
});

describe("arguments that are an object", () => {
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: { at: [1, "two"] } };

  test("are arguments in a stream", () => {
    const { text } = play([
      { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: {} } },
      { type: "response.output_item.done", output_index: 0, item: call },
      completed([call]),
    ]);
    expect(blocksOf(text)).toEqual([{ type: "look", content: '{"at":[1,"two"]}' }]);
  });

  test("are arguments in a complete answer", () => {
    const input = inputFor({ ...HEAD, messages: MESSAGES }, { upstream: "responses" });
    const body = Buffer.from(JSON.stringify(completed([call]).response));
    const answer: unknown = JSON.parse(createTranslation("messages", input).response(body, createMeter(5)).toString());
    expect(answer).toMatchObject({ content: [{ type: "tool_use", name: "look", input: { at: [1, "two"] } }] });
  });
});

test.for(["chat", "messages", "responses"] as const)(
  "what a failed response reports is charged to a %s client (S28)",
  (client) => {
    const { outcome, metered } = play(
      [
        { type: "response.created", response: { id: "resp_1", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...message(""), content: [] } },
        { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Good day." },
        {
          type: "response.failed",
          response: {
            id: "resp_1",
            object: "response",
            status: "failed",
            output: [message("Good day.")],
            usage: USAGE,
            error: { code: "server_error", message: "x" },
          },
        },
      ],
      client,
    );
    expect(outcome).toBe("failed");
    expect(metered).toMatchObject({ usage: { inputTokens: 100, outputTokens: 40 }, isEstimated: false });
  },
);
