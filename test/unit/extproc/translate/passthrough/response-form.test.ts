import { expect, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat, replayMessages, replayResponses } from "../replay.ts";
import { play } from "./play.ts";
import { complete, events, readPieces, REQUEST, write, type Event, type Json } from "./response-events.ts";

/** Events of responses that lack what clients' libraries require. */
const without = (name: string) => () => {
  const all = events();
  for (const event of all) delete event[name];
  return write(all);
};

const eachCall = (change: (call: Json, event: Event) => void) => () => {
  const all = events();
  for (const event of all) for (const call of callsIn(event)) change(call, event);
  return write(all);
};

const isPart = (value: unknown): value is Json => typeof value === "object" && value !== null;

const eachPart = (change: (part: Json, event: Event) => void) => () => {
  const all = events();
  for (const event of all) {
    if (isPart(event["part"])) change(event["part"], event);
    for (const item of [event.item, ...(event.response?.output ?? [])])
      if (item?.["type"] === "message" && Array.isArray(item["content"])) for (const part of item["content"]) change(part, event);
  }
  return write(all);
};

function callsIn({ item, response }: Event): Json[] {
  return [...(item === undefined ? [] : [item]), ...(response?.output ?? [])].filter(({ type }) => type === "function_call");
}

const ODD: Record<string, () => string> = {
  "no output_index": without("output_index"),
  "no content_index": without("content_index"),
  "no item_id": without("item_id"),
  "null for the content of a message that begins": () => {
    const all = events();
    for (const { type, item } of all) if (item?.["type"] === "message" && type.endsWith(".added")) item["content"] = null;
    return write(all);
  },
  "no logprobs": without("logprobs"),
  "no sequence_number": without("sequence_number"),
  "no starts of messages and their parts": () =>
    write(
      events().filter(
        ({ type, item }) =>
          type !== "response.content_part.added" && !(type.endsWith("item.added") && item?.["type"] === "message"),
      ),
    ),
  "no starts at all": () => write(events().filter(({ type }) => !type.endsWith(".added") && !type.includes("arguments"))),
  "one output_index for all": () => {
    const all = events();
    for (const event of all) if ("output_index" in event) event["output_index"] = 0;
    return write(all);
  },
  "one output_index for all, and no output": () => {
    const all = events();
    for (const event of all) if ("output_index" in event) event["output_index"] = 0;
    return write(all).replace(/("status":"completed","model":"m","output":)\[.*\]/, "$1[]");
  },
  "an output_index that counts an item more": () => {
    const all = events();
    for (const event of all) if (isIndex(event["output_index"])) event["output_index"] += 1;
    return write(all);
  },
  "parts that are counted on from item to item": () => {
    const all = events();
    for (const event of all) if ("content_index" in event) event["content_index"] = 3;
    return write(all);
  },
  "another item_id with each piece": () => {
    const all = events();
    for (const [at, event] of all.entries()) if ("item_id" in event) event["item_id"] = `other_${at}`;
    return write(all);
  },
  "ends of items that are sent twice": () =>
    write(events().flatMap((event) => (event.type === "response.output_item.done" ? [event, event] : [event]))),
  "calls that have a call_id alone": () => {
    const all = events();
    for (const event of all) {
      if (event["item_id"] === "fc_1") event["item_id"] = "call_1";
      if (event.item?.["type"] === "function_call") delete event.item["id"];
    }
    return write(all);
  },
  "another call_id where a call ends": eachCall((call, { type }) => {
    if (!type.endsWith(".added")) call["call_id"] = "call_2";
  }),
  "no arguments of a call that begins": eachCall((call, { type }) => {
    if (type.endsWith(".added")) delete call["arguments"];
  }),
  "no arguments of a call that ends": eachCall((call) => {
    if (call["arguments"] !== "") delete call["arguments"];
  }),
  "arguments as an object where a call ends": eachCall((call) => {
    if (call["arguments"] !== "") call["arguments"] = { city: "Oslo" };
  }),
  "no name where a call ends": eachCall((call, { type }) => {
    if (!type.endsWith(".added")) delete call["name"];
  }),
  "no start of its call": () =>
    write(events().filter(({ type, item }) => !(type.endsWith("item.added") && item?.["type"] === "function_call"))),
  "no text of a part that begins": eachPart((part, { type }) => {
    if (type.endsWith(".added")) delete part["text"];
  }),
  "no text where a part ends": eachPart((part, { type }) => {
    if (!type.endsWith(".added")) delete part["text"];
  }),
  "no text where a text ends": () => {
    const all = events();
    for (const event of all) if (event.type === "response.output_text.done") delete event["text"];
    return write(all);
  },
  "no content where a message ends": () => {
    const all = events();
    for (const { type, item } of all) if (item?.["type"] === "message" && type.endsWith(".done")) delete item["content"];
    return write(all);
  },
  "no status": () => write(events()).replaceAll(/"status":"\w+",/g, ""),
  "response.in_progress first": () => {
    const all = events();
    for (const event of all) if (event.type === "response.created") event.type = "response.in_progress";
    return write(all);
  },
  "an item first": () => write(events().slice(1)),
  "nothing before its first text": () => write(events().slice(3)),
  "its end alone": () => write(events().slice(-1)),
  "its end and an item first": () =>
    write(events().filter(({ type }) => type.endsWith("item.done") || type.endsWith("completed"))),
  "another id at its end": () => {
    const all = write(events());
    const end = all.lastIndexOf("resp_1");
    return `${all.slice(0, end)}resp_2${all.slice(end + 6)}`;
  },
  "texts that arrive with their ends": () => write(events().filter(({ type }) => !type.endsWith(".delta"))),
  "no id of the response": () => write(events()).replaceAll('"id":"resp_1",', ""),
  "an id of the response at its end alone": () => write(events()).replace('"id":"resp_1",', ""),
  "items that never end": () => write(events().filter(({ type }) => !type.endsWith("item.done"))),
  "items that never end, and no output": () => {
    const all = events().filter(({ type }) => !type.endsWith("item.done"));
    return write(all).replace(/("status":"completed","model":"m","output":)\[.*\]/, "$1[]");
  },
  "items that begin and end, without pieces": () =>
    write(events().filter(({ type }) => !/delta|text.done|_part|arguments/.test(type))),
  "other ids of items at its end": () => {
    const all = write(events());
    const end = all.lastIndexOf("event: ");
    return all.slice(0, end) + all.slice(end).replaceAll(/msg_1|fc_1/g, "$&9");
  },
  // LiteLLM's, of servers that do not stream.
  "text that names the response as its item, and the rest at its end": () => {
    const text = events().filter(({ type }) => type === "response.output_text.delta");
    return write([...text.map((event) => ({ ...event, item_id: "resp_1" })), ...events().slice(-1)]);
  },
  "types only in the names of events": () => write(events()).replaceAll(/data: \{"type":"response[\w.]+",/g, "data: {"),
};

/** As its servers stream it: with reasoning before the message. */
const RECORDED: Record<string, string> = {
  vLLM: write(
    (() => {
      const ofPart = { item_id: "rs_1", output_index: 0, content_index: 0 };
      const part = { type: "reasoning_text", text: "" };
      const item = { id: "rs_1", type: "reasoning", summary: [], status: "in_progress" };
      const [created, ...rest] = events();
      const reasoning = [
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.reasoning_part.added", ...ofPart, part },
        { type: "response.reasoning_text.delta", ...ofPart, delta: "Hmm." },
        { type: "response.reasoning_text.done", ...ofPart, text: "Hmm." },
        { type: "response.reasoning_part.done", ...ofPart, part: { ...part, text: "Hmm." } },
        { type: "response.output_item.done", output_index: 0, item: { ...item, content: [{ ...part, text: "Hmm." }] } },
      ];
      const moved = rest.map((event) => ({
        ...event,
        ...(isIndex(event["output_index"]) && { output_index: event["output_index"] + 1 }),
        ...(isIndex(event["content_index"]) && { content_index: 1 }),
      }));
      return [...(created === undefined ? [] : [created]), ...reasoning, ...moved].map((event, at) => ({
        ...event,
        sequence_number: at,
      }));
    })(),
  ),
  "llama.cpp": write([
    { type: "response.created", response: { id: "resp_1", object: "response", status: "in_progress" } },
    {
      type: "response.output_item.added",
      item: { id: "rs_1", summary: [], type: "reasoning", content: [], encrypted_content: "" },
    },
    { type: "response.reasoning_text.delta", delta: "Hmm.", item_id: "rs_1" },
    { type: "response.output_item.added", item: { content: [], id: "msg_1", role: "assistant", type: "message" } },
    { type: "response.content_part.added", item_id: "msg_1", part: { type: "output_text", text: "" } },
    { type: "response.output_text.delta", item_id: "msg_1", delta: "Good " },
    { type: "response.output_text.delta", item_id: "msg_1", delta: "day." },
    { type: "response.output_item.added", item: { arguments: "", call_id: "call_1", name: "weather", type: "function_call" } },
    { type: "response.function_call_arguments.delta", delta: '{"city":"Oslo"}', item_id: "call_1" },
    {
      type: "response.output_item.done",
      item: { id: "rs_1", summary: [], type: "reasoning", content: [{ text: "Hmm.", type: "reasoning_text" }] },
    },
    { type: "response.output_text.done", item_id: "msg_1", text: "Good day." },
    {
      type: "response.content_part.done",
      item_id: "msg_1",
      part: { type: "output_text", annotations: [], logprobs: [], text: "Good day." },
    },
    {
      type: "response.output_item.done",
      item: {
        type: "message",
        id: "msg_1",
        role: "assistant",
        content: [{ type: "output_text", annotations: [], text: "Good day." }],
      },
    },
    {
      type: "response.output_item.done",
      item: { type: "function_call", status: "completed", arguments: '{"city":"Oslo"}', call_id: "call_1", name: "weather" },
    },
    ...events().slice(-1),
  ]),
};

function isIndex(value: unknown): value is number {
  return typeof value === "number";
}

test.for(Object.entries(RECORDED))("a Responses stream of %s with reasoning is whole for the official SDK", async ([, sent]) => {
  const { text, outcome } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(outcome).toBe("complete");
  expect(await replayResponses(text)).toMatchObject({ output_text: "Good day." });
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(numbers.map((_, at) => at));
  expect(text).not.toContain("reasoning_part");
});

test.for(Object.entries(ODD))("a Responses stream with %s is whole for the official SDK", async ([, make]) => {
  const sent = make();
  const whole = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(whole.outcome).toBe("complete");
  expect(await replayResponses(whole.text)).toMatchObject({
    output_text: "Good day.",
    output: [{ type: "message" }, { type: "function_call", call_id: "call_1", arguments: '{"city":"Oslo"}' }],
  });
  expect(readPieces(whole.text)).toEqual({ text: "Good day.", arguments: '{"city":"Oslo"}' });
  // Codex runs a call at each end of its item.
  expect(whole.text.match(/event: response.output_item.done/g)).toHaveLength(2);
  const bytes = [...Buffer.from(sent)].map((byte) => Buffer.from([byte]));
  expect(play(REQUEST, bytes, { protocol: "responses" }).text).toBe(whole.text);
});

test.for(Object.entries(ODD))("a Responses stream with %s is whole for clients of Chat and Messages", async ([, make]) => {
  const translate = (client: Protocol, request: object) => {
    const input = inputFor({ ...request, model: "m", stream: true }, { upstream: "responses", upstreamModel: "m" });
    const stream = createTranslation(client, input).stream(createMeter(10));
    const sent = Buffer.from(make());
    const output = stream.push(sent);
    return Buffer.concat([output === "unchanged" ? sent : output, stream.end()]).toString();
  };
  const messages = [{ role: "user", content: "hi" }];
  const completion = await replayChat(translate("chat", { messages, stream_options: { include_usage: true } }));
  expect(completion.choices[0]?.message).toMatchObject({
    content: "Good day.",
    tool_calls: [{ id: "call_1", function: { arguments: '{"city":"Oslo"}' } }],
  });
  const message = await replayMessages(translate("messages", { messages, max_tokens: 100 }));
  expect(message.content).toMatchObject([
    { type: "text", text: "Good day." },
    { type: "tool_use", id: "call_1", input: { city: "Oslo" } },
  ]);
});

/** For clients that read nothing else. */
test("a Responses stream in proper form passes without a copy", () => {
  const pieces = write(events())
    .split(/(?<=\n\n)/)
    .map((event) => Buffer.from(event));
  expect(play(REQUEST, pieces, { protocol: "responses" })).toMatchObject({ text: write(events()), unchanged: pieces.length });
});

test("a Responses stream ends with an error where another response begins", () => {
  const again = write(events().slice(0, 5)) + write(events()).replaceAll("resp_1", "resp_2");
  const { text, outcome } = play(REQUEST, [Buffer.from(again)], { protocol: "responses" });
  expect(outcome).toBe("failed");
  expect(text).toContain("event: response.failed");
  expect(text).not.toContain("resp_2");
});

test("a response that failed before it began is a failed response for the official SDK", async () => {
  const error = { code: "server_error", message: "CUDA out of memory" };
  const sent = write([{ type: "response.failed", response: { id: "resp_1", status: "failed", error } }]);
  const { text, outcome } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(outcome).toBe("failed");
  expect(await replayResponses(text)).toMatchObject({ id: "resp_1", status: "failed", error: { code: "server_error" } });
});

test("the names of the model and of the response are the same in events that the server left out", () => {
  const sent = write(events().slice(1));
  const { text } = play({ ...REQUEST, model: "public" }, [Buffer.from(sent)], { protocol: "responses" });
  const named = [...text.matchAll(/"response":\{"id":"(\w+)".*?"model":"(\w+)"/g)].map(([, id, model]) => [id, model]);
  expect(new Set(named.map(String)).size).toBe(1);
  expect(named).toHaveLength(2);
  expect(named[0]?.[1]).toBe("public");
});

test("an item of which its server sends only the end gets its pieces", () => {
  const sent = write(events().filter(({ type }) => !/added|delta|text.done|part.done|arguments/.test(type)));
  const { text, metered } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(text).toContain('"delta":"Good day."');
  expect(text).toContain('"delta":"{\\"city\\":\\"Oslo\\"}"');
  // What the gateway adds is not charged.
  const whole = play(REQUEST, [Buffer.from(write(events()))], { protocol: "responses" }).metered;
  expect(metered.usage.outputTokens).toBe(whole.usage.outputTokens);
});

test("reasoning without its list of summaries is whole for the official SDK, and a response says that it is complete", async () => {
  const reasoning = { id: "rs_1", type: "reasoning" };
  const all = events().map((event) => ({
    ...event,
    ...(isIndex(event["output_index"]) && { output_index: event["output_index"] + 1 }),
  }));
  const items = ["added", "done"].map((end) => ({ type: `response.output_item.${end}`, output_index: 0, item: reasoning }));
  const sent = write([...all.slice(0, 1), ...items, ...all.slice(1)])
    .replaceAll(/"status":"\w+",/g, "")
    .replace('"output":[{', `"output":[${JSON.stringify(reasoning)},{`);
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(await replayResponses(text)).toMatchObject({
    status: "completed",
    output: [{ ...reasoning, summary: [] }, { type: "message" }, { type: "function_call" }],
  });
  expect(JSON.parse(complete(JSON.stringify({ output: [reasoning] })))).toMatchObject({
    status: "completed",
    output: [{ ...reasoning, summary: [] }],
  });
});

test.for([
  { lacking: "a call_id", change: (call: Json) => delete call["call_id"], id: "fc_1" },
  { lacking: "a call_id that is not empty", change: (call: Json) => (call["call_id"] = ""), id: "fc_1" },
  { lacking: "any id", change: (call: Json) => delete call["call_id"] && delete call["id"], id: /^item_/ },
])("a call without $lacking gets one, the same in all events, and whole", async ({ change, id }) => {
  const sent = eachCall(change)();
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  const given = [...text.matchAll(/"call_id":"(\w*)"/g)].map(([, written]) => written);
  expect(given).toHaveLength(3);
  expect(new Set(given).size).toBe(1);
  expect(given[0]).toMatch(id);
  expect(await replayResponses(text)).toMatchObject({ output: [{}, { call_id: given[0], arguments: '{"city":"Oslo"}' }] });
  const call: Json = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" };
  change(call);
  expect(JSON.parse(complete(JSON.stringify({ output: [call] })))).toMatchObject({
    output: [{ ...call, call_id: expect.stringMatching(id) }],
  });
});

test("a complete response gets what it lacks, and keeps its other bytes", () => {
  const call = { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}", x: 1.5 };
  const answer = complete(JSON.stringify({ id: "resp_1", status: "completed", output: [call] }));
  expect(JSON.parse(answer)).toMatchObject({
    object: "response",
    created_at: expect.any(Number),
    model: "m",
    output: [{ ...call, id: "call_1" }],
  });
});

test("a complete response in proper form keeps its bytes", () => {
  const response = events().at(-1)?.["response"];
  const written = JSON.stringify(response, null, 1);
  expect(complete(written)).toBe(written);
});
