import { expect, test } from "vitest";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { affinityOf } from "../../../../extproc/route/affinity.ts";

const NO_HEADERS = new Map<string, string>();
const message = (role: string, content: unknown) => ({ role, content });

function of(parsed: Record<string, unknown>, headers: ReadonlyMap<string, string> = NO_HEADERS, keyId = "key") {
  return affinityOf({ keyId, headers, body: parseBody(Buffer.from(JSON.stringify(parsed)), { headers, interface: "chat" }) });
}

test("later turns of a conversation go to the same backend as its first, in both protocols", () => {
  const first = [message("system", "Be brief."), message("user", "One?")];
  expect(of({ messages: [...first, message("assistant", "1"), message("user", "Two?")] })).toBe(of({ messages: first }));
  const asked = [message("user", [{ type: "text", text: "One?" }])];
  expect(of({ system: "Be brief.", messages: [...asked, message("assistant", "1")] })).toBe(
    of({ system: "Be brief.", messages: asked }),
  );
});

test("a Responses conversation is identified by its instructions and its first question, a text or an item", () => {
  const bound = (input: unknown, instructions = "Be brief.") => of({ instructions, input });
  const asked = [message("user", [{ type: "input_text", text: "One?" }])];
  const later = [...asked, { type: "function_call", call_id: "c", name: "f", arguments: "{}" }, message("user", "Two?")];
  expect(bound(later)).toBe(bound(asked));
  expect(bound("One?")).toBe(bound(asked));
  expect(new Set([bound("One?"), bound("Two?"), bound("One?", "Be long.")]).size).toBe(3);
});

test("another first question, system prompt or key is another conversation", () => {
  const base = { messages: [message("system", "Be brief."), message("user", "One?")] };
  const others = [
    of({ messages: [message("system", "Be brief."), message("user", "Two?")] }),
    of({ messages: [message("system", "Be long."), message("user", "One?")] }),
    of(base, NO_HEADERS, "other"),
  ];
  expect(new Set([of(base), ...others]).size).toBe(4);
});

test.for([
  ["a session header", {}, new Map([["x-session-id", "s1"]])],
  ["prompt_cache_key", { prompt_cache_key: "s1" }, NO_HEADERS],
  ["metadata.user_id", { metadata: { user_id: "s1" } }, NO_HEADERS],
] as const)("%s identifies the session regardless of the content", ([, fields, headers]) => {
  const bound = (text: string) => of({ ...fields, messages: [message("user", text)] }, headers);
  expect(bound("One?")).toBe(bound("Two?"));
});

test("fields of the wrong type are left for the translation to refuse", () => {
  for (const parsed of [
    {},
    { messages: "hello" },
    { messages: [null, 7] },
    { metadata: "x", system: 5, messages: [message("user", [5])] },
  ])
    expect(of(parsed)).toMatch(/^key\n/);
});
