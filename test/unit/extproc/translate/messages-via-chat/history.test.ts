import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PROFILE_NAMES } from "../../../../../contract/profile.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { translate } from "./chat.ts";

/** A coding agent's twenty turns: thinking, parallel tools, tool images, reminders, an upstream that counts ids from 0. */
const TURNS = 20;
/** The other preset is for servers that speak messages. */
const CHAT_PROFILES = PROFILE_NAMES.filter((name) => name !== "anthropic");
const SYSTEM = [
  { type: "text", text: "x-anthropic-billing-header: cch=1;" },
  { type: "text", text: "You code.", cache_control: { type: "ephemeral" } },
];

interface Message {
  role: string;
  content: unknown;
}

function upstreamAnswer(turn: number): object {
  const tools = [
    {
      id: "call_0",
      type: "function",
      function: { name: "Read", arguments: `{"path": "file-${turn}.ts", "big": 12345678901234567890}` },
    },
    { id: "functions.Bash:1", type: "function", function: { name: "Bash", arguments: '{"command":"ls"}' } },
  ];
  const message = {
    role: "assistant",
    content: turn % 3 === 0 ? "" : `Step ${turn}.`,
    reasoning_content: `Because ${turn}.`,
    tool_calls: tools,
  };
  return {
    id: `chatcmpl-${turn}`,
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  };
}

/** What the agent sends back: it keeps the blocks as it read them and answers each call. */
function agentReply(content: unknown, turn: number): Message {
  const blocks: { type: string; id: string }[] = JSON.parse(JSON.stringify(content));
  const results = blocks
    .filter(({ type }) => type === "tool_use")
    .map(({ id }, index) => ({
      type: "tool_result",
      tool_use_id: id,
      is_error: turn % 4 === 1 && index === 1,
      content: [
        { type: "text", text: `result ${turn}.${index}` },
        ...(index === 0 && turn % 5 === 2
          ? [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }]
          : []),
      ],
    }));
  const reminder = turn % 2 === 0 ? [{ type: "text", text: "<system-reminder>\nstay brief\n</system-reminder>" }] : [];
  return { role: "user", content: [...results, ...reminder] };
}

/** Plays the conversation; returns what the upstream was sent as `messages`, turn by turn, as bytes. */
function playConversation(profile: (typeof PROFILE_NAMES)[number]): { prompts: string[]; ids: string[] } {
  const messages: Message[] = [{ role: "user", content: "Fix the bug." }];
  const prompts: string[] = [];
  const ids: string[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const request = {
      model: "m",
      max_tokens: 1_000,
      system: [{ ...SYSTEM[0], text: `x-anthropic-billing-header: cch=${turn};` }, SYSTEM[1]],
      messages,
    };
    const translation = translate(request, { profile, requestId: `01900000-0000-7000-8000-0000000000${turn + 10}` });
    prompts.push(messagesOf(translation.upstream.body));
    const answer: { content: { type: string; id: string }[] } = JSON.parse(
      translation.response(Buffer.from(JSON.stringify(upstreamAnswer(turn))), createMeter(0)).toString("utf8"),
    );
    ids.push(...answer.content.filter(({ type }) => type === "tool_use").map(({ id }) => id));
    messages.push({ role: "assistant", content: answer.content }, agentReply(answer.content, turn));
    if (turn % 6 === 5) messages.push({ role: "system", content: `The user opened file-${turn}.ts.` });
  }
  return { prompts, ids };
}

/** The elements of `messages`, as written. */
function messagesOf(body: Buffer): string {
  const { messages }: { messages: unknown[] } = JSON.parse(body.toString("utf8"));
  const text = JSON.stringify(messages);
  expect(body.toString("utf8")).toContain(text);
  return text.slice(0, -1);
}

describe.for(CHAT_PROFILES)("an agent's conversation of twenty turns, with %s", (profile) => {
  test("its prompt grows only at its end, so that prompt caches hit", () => {
    const { prompts } = playConversation(profile);
    for (const [turn, prompt] of prompts.entries())
      expect(prompt.startsWith(prompts[turn - 1] ?? "["), `turn ${turn}`).toBe(true);
    expect(prompts).toHaveLength(TURNS);
  });

  test("no tool id reaches the client twice, and all are returned to the upstream unchanged", () => {
    const { prompts, ids } = playConversation(profile);
    expect(new Set(ids).size).toBe(2 * TURNS);
    const last = prompts.at(-1) ?? "";
    expect(last.match(/"id":"call_0"/g)).toHaveLength(TURNS - 1);
    expect(last.match(/"tool_call_id":"functions.Bash:1"/g)).toHaveLength(TURNS - 1);
  });
});

test("the upstream's reasoning and arguments are returned to it byte for byte", () => {
  const last = playConversation("generic").prompts.at(-1) ?? "";
  for (let turn = 0; turn < TURNS - 1; turn += 1) {
    expect(last).toContain(`"reasoning_content":"Because ${turn}."`);
    expect(last).toContain(`file-${turn}.ts`);
  }
});

test("the same request is always translated to the same bytes", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (system, content) => {
      const request = { model: "m", max_tokens: 9, system, messages: [{ role: "user", content }] };
      expect(translate(request).upstream.body.equals(translate(request).upstream.body)).toBe(true);
    }),
  );
});
