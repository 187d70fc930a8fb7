import { expect, test } from "vitest";
import * as z from "zod";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

/** System messages among the turns, as they reach a chat server that accepts them there. */

const HELLO = { role: "user", content: "hi" };
const ANSWER = { role: "assistant", content: "yes" };
const FOR_ONE_TURN = { role: "system", content: "s", clear_at: "next_user_message" };
const REFERENCE = { type: "tool_reference", name: "f" };

const sentSchema = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

function sent(messages: readonly object[]) {
  const request = { model: "m", max_tokens: 10, messages, tools: [{ name: "f", input_schema: { type: "object" } }] };
  const { upstream, dropped } = createTranslation(
    "messages",
    inputFor(request, { upstream: "chat", flags: { systemAnywhere: true } }),
  );
  return { ...sentSchema.parse(JSON.parse(upstream.body.toString())), dropped };
}

test("one that ends with the next user message is sent until then", () => {
  const system = { role: "system", content: "s" };
  expect(sent([HELLO, FOR_ONE_TURN]).messages).toEqual([HELLO, system]);
  expect(sent([HELLO, FOR_ONE_TURN, ANSWER, HELLO]).messages).toEqual([HELLO, ANSWER, HELLO]);
  expect(sent([HELLO, { ...FOR_ONE_TURN, clear_at: "never" }, ANSWER, HELLO]).messages).toContainEqual(system);
});

test.for([
  ["settings alone", { output_config: { effort: "low" } }, "messages.output_config"],
  ["settings and no content", { content: null, output_config: { effort: "low" } }, "messages.output_config"],
  ["a tool that is removed", { content: [{ type: "tool_removal", tool: REFERENCE }] }, "messages.content.bookkeeping"],
  ["a tool that is added", { content: [{ type: "tool_addition", tool: REFERENCE }] }, "messages.content.bookkeeping"],
] as const)("one with %s is left out and listed", ([, members, listed]) => {
  expect(sent([HELLO, { role: "system", ...members }])).toEqual({ messages: [HELLO], dropped: [listed] });
});

test("one with nothing at all is refused by name", () => {
  expect(() => sent([HELLO, { role: "system" }])).toThrow(expect.objectContaining({ field: "messages[1].content" }));
});
