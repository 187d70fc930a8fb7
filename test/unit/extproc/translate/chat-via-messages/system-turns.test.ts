import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Profile } from "../../../../../contract/profile.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

interface Upstream {
  thinking?: { type: string };
  messages: { role: string; content: { type: string; text?: string }[] }[];
}

function translate(messages: object[], flags: Partial<Profile> = {}): Upstream {
  const request = { model: "m", messages, reasoning_effort: "high", tools: [{ type: "function", function: { name: "f" } }] };
  const input = inputFor(request, { upstream: "messages", flags: { thinkingControl: "budget", systemTurns: true, ...flags } });
  return JSON.parse(createTranslation("chat", input).upstream.body.toString());
}

const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const texts = fc.constantFrom("a", "b", " ");
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content: texts }),
  fc.record({ role: fc.constant("assistant"), content: texts, tool_calls: fc.constantFrom([], [call]) }),
  fc.record({ role: fc.constant("tool"), tool_call_id: fc.constant("c"), content: texts }),
);

test("a system turn follows a user turn, and precedes an answer or the end", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 12 }), (messages) => {
      const roles = translate(messages).messages.map(({ role }) => role);
      // Without the system turns, user and assistant alternate.
      expect(roles.join(" ")).toMatch(/^user( system)?( assistant( user( system)?)?)*( assistant)?$/);
      expect(roles.filter((role) => role !== "system").join(" ")).toMatch(/^(user assistant ?)*(user)?$/);
    }),
    { numRuns: 1000 },
  );
});

test("no system text is lost, whether or not the server accepts system turns", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 12 }), fc.boolean(), (messages, systemTurns) => {
      const marked = messages.map((message, index) =>
        message.role === "system" ? { ...message, content: `rule ${index}.` } : message,
      );
      const body = JSON.stringify(translate([{ role: "user", content: "hi" }, ...marked], { systemTurns }).messages);
      for (const { role, content } of marked) expect(role !== "system" || body.includes(content)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a system turn after the results does not hide that calls are answered without their thinking", () => {
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", tool_calls: [call] },
    { role: "tool", tool_call_id: "c", content: "r" },
  ];
  const { thinking, messages: turns } = translate([...messages, { role: "system", content: "Be brief." }]);
  expect(turns.at(-1)).toEqual({ role: "system", content: [{ type: "text", text: "Be brief." }] });
  expect(thinking).toEqual({ type: "disabled" });
});
