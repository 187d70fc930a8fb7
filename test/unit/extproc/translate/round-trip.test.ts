import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";

/** A request on its way to an upstream of the other protocol. */
function translate(client: Protocol, request: object | Buffer): Buffer {
  const upstream = client === "chat" ? "messages" : "chat";
  return createTranslation(client, inputFor(request, { upstream, upstreamModel: "m" })).upstream.body;
}

function parsed(body: Buffer): unknown {
  return JSON.parse(body.toString("utf8"));
}

const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => value.trim() !== "");
const callId = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.constantFrom("toolu_gw0eA", "functions.f:0", "toolu_gwx"),
);
const name = fc.constantFrom("f", "get_weather", "mcp__x-y");
const input = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 });
const call = fc.record({ name, input, result: fc.oneof(fc.constant(""), text) });
/** A question, what the model said and called, and what came of the calls. */
const round = fc.record({ question: text, reply: text, calls: fc.array(call, { maxLength: 3 }) });
const conversation = fc
  .record({ system: fc.option(text), rounds: fc.array(round, { maxLength: 4 }), last: text })
  .chain((plan) => {
    const count = plan.rounds.reduce((sum, { calls }) => sum + calls.length, 0);
    return fc.uniqueArray(callId, { minLength: count, maxLength: count }).map((ids) => ({ ...plan, ids }));
  });
type Plan = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never;

function inChat({ system, rounds, last, ids }: Plan): object {
  const rest = ids.values();
  const messages = rounds.flatMap(({ question, reply, calls }) => {
    const made = calls.map((call) => ({ ...call, id: rest.next().value ?? "" }));
    const toolCalls = made.map(({ id, name, input }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }));
    return [
      { role: "user", content: question },
      { role: "assistant", content: reply, ...(made.length > 0 && { tool_calls: toolCalls }) },
      ...made.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
      ...(made.length > 0 ? [{ role: "assistant", content: "done" }] : []),
    ];
  });
  const head = system === null ? [] : [{ role: "system", content: system }];
  return { model: "m", max_tokens: 100, messages: [...head, ...messages, { role: "user", content: last }], tools: TOOLS_IN_CHAT };
}

function inMessages({ system, rounds, last, ids }: Plan): object {
  const rest = ids.values();
  const messages = rounds.flatMap(({ question, reply, calls }) => {
    // The other way round the ids must be legal in messages from the start.
    const made = calls.map((call) => ({ ...call, id: `toolu_${Buffer.from(rest.next().value ?? "").toString("hex")}` }));
    const uses = made.map(({ id, name, input }) => ({ type: "tool_use", id, name, input }));
    const results = made.map(({ id, result }) => ({
      type: "tool_result",
      tool_use_id: id,
      ...(result !== "" && { content: [{ type: "text", text: result }] }),
    }));
    return [
      { role: "user", content: [{ type: "text", text: question }] },
      { role: "assistant", content: [{ type: "text", text: reply }, ...uses] },
      ...(made.length > 0
        ? [
            { role: "user", content: results },
            { role: "assistant", content: [{ type: "text", text: "done" }] },
          ]
        : []),
    ];
  });
  const turns = [...messages, { role: "user", content: [{ type: "text", text: last }] }];
  return {
    model: "m",
    max_tokens: 100,
    ...(system !== null && { system: [{ type: "text", text: system }] }),
    messages: turns,
    tools: TOOLS_IN_MESSAGES,
  };
}

const SCHEMA = { type: "object", properties: { n: { type: "integer" } } };
const TOOLS_IN_CHAT = [{ type: "function", function: { name: "f", description: "d", parameters: SCHEMA } }];
const TOOLS_IN_MESSAGES = [{ name: "f", description: "d", input_schema: SCHEMA }];

test("chat to messages and back is the same request", () => {
  fc.assert(
    fc.property(conversation, (plan) => {
      const request = inChat(plan);
      expect(parsed(translate("messages", translate("chat", request)))).toEqual(request);
    }),
    { numRuns: 500 },
  );
});

test("messages to chat and back is the same request", () => {
  fc.assert(
    fc.property(conversation, (plan) => {
      const request = inMessages(plan);
      expect(parsed(translate("chat", translate("messages", request)))).toEqual(request);
    }),
    { numRuns: 500 },
  );
});

test("settings that both protocols have survive the round trip", () => {
  const settings = {
    temperature: 0.5,
    top_p: 0.9,
    stop: ["END"],
    stream: true,
    tools: TOOLS_IN_CHAT,
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
  };
  const request = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "hi" }], ...settings };
  expect(parsed(translate("messages", translate("chat", request)))).toEqual({
    ...request,
    stream_options: { include_usage: true },
  });
});

test("a tool's arguments and schema keep their bytes in the round trip", () => {
  const schema = '{"type":"object","properties":{"2":{"type":"integer","maximum":9223372036854775807},"1":{}}}';
  const args = '{"id": 12345678901234567890, "2": 1.0, "1": 2}';
  const request = `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`;
  const back = translate("messages", translate("chat", Buffer.from(request))).toString();
  expect(back).toContain(JSON.stringify(args));
  expect(back).toContain(schema);
});
