import { describe, expect, test } from "vitest";
import { createChatViaMessages } from "../../../../extproc/translate/chat-via-messages/chat-via-messages.ts";
import { FIELD_POLICIES } from "../../../../extproc/translate/chat-via-messages/policy.ts";
import type { Translation } from "../../../../extproc/translate/translation.ts";
import { inputFor } from "../input.ts";

const PLAIN = {
  model: "modelx-v4-pro",
  messages: [{ role: "user", content: "hi" }],
  tools: [{ type: "function", function: { name: "f" } }],
};

function translate(fields: object): Translation {
  return createChatViaMessages(
    inputFor({ ...PLAIN, ...fields }, { upstream: "messages", flags: { thinkingControl: "adaptive" } }),
  );
}

const withAction = (action: string) => FIELD_POLICIES.filter((policy) => policy.action === action);

describe("the table of fields says what happens", () => {
  test.for(withAction("drop"))("$field is dropped and named", ({ field, example }) => {
    const { dropped, upstream } = translate({ [field]: example });
    expect(dropped).toEqual([field]);
    expect(upstream.body).toEqual(translate({}).upstream.body);
  });

  test.for(withAction("reject"))("$field is refused by name", ({ field, example }) => {
    expect(() => translate({ [field]: example })).toThrow(expect.objectContaining({ code: "invalid_request", field }));
  });

  test.for([...withAction("map"), ...withAction("emulate")])("$field is taken, not named as dropped", ({ field, example }) => {
    const fields = field === "functions" || field === "function_call" ? { tools: undefined, functions: [{ name: "f" }] } : {};
    expect(translate({ ...fields, [field]: example }).dropped).toEqual([]);
  });

  test.for(
    FIELD_POLICIES.flatMap(({ field, neutral }) =>
      [null, ...(neutral ?? [])].map((value) => ({ field, value: JSON.stringify(value) })),
    ),
  )("$field: $value asks for nothing", ({ field, value }) => {
    const isRequired = field === "model" || field === "messages";
    const fields = isRequired ? {} : { [field]: JSON.parse(value) };
    expect(translate(fields).dropped).toEqual([]);
  });

  test("no field has two policies", () => {
    expect(new Set(FIELD_POLICIES.map(({ field }) => field)).size).toBe(FIELD_POLICIES.length);
  });
});

test("an unknown field is dropped and named, in characters that a header can hold", () => {
  const { dropped } = translate({ "x-new\r\nfield é": 1, ["long".repeat(100)]: 2 });
  expect(dropped).toEqual(["x-new??field??", "long".repeat(16)]);
});

test("a thousand unknown fields are named in part", () => {
  const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, 1]));
  expect(translate(fields).dropped).toHaveLength(16);
});
