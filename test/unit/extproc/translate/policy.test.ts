import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import type { Protocol } from "../../../../contract/protocol.ts";
import type { Policy } from "../../../../extproc/translate/policy.ts";
import {
  CHAT_VIA_MESSAGES,
  exampleRequest,
  MESSAGES_VIA_CHAT,
  policiesOf,
  RESPONSES_VIA_CHAT,
  RESPONSES_VIA_MESSAGES,
  translateRequest,
  type PolicyDirection,
} from "../../../support/documents/policy-direction.ts";

/** What these decide is in the answer, needs a cache mark beside it, or is what every request to messages asks for. */
const UNSEEN_UPSTREAM = ["model", "stream_options", "prompt_cache_retention", "n", "include", "metadata"];
const DIRECTIONS = [CHAT_VIA_MESSAGES, MESSAGES_VIA_CHAT, RESPONSES_VIA_CHAT, RESPONSES_VIA_MESSAGES];
/** Required in every request of these clients. */
const REQUIRED = {
  chat: ["model", "messages"],
  messages: ["model", "messages", "max_tokens"],
  responses: ["model", "input"],
} as const satisfies Record<Protocol, readonly string[]>;

describe.for(DIRECTIONS)("every row of the tables of $name matches the behaviour (S21)", (direction) => {
  const { plain } = direction;
  const fields = policiesOf(direction, direction.fields);
  const contents = policiesOf(direction, direction.contents);
  const all = [...fields, ...contents];
  const plainBody = translateRequest(direction, plain).upstream.body;
  const translate = (policy: Policy) => translateRequest(direction, exampleRequest(direction, policy));

  test.for(by("drop", all))("$field is dropped and listed", (policy) => {
    expect(translate(policy).dropped).toEqual([policy.field]);
  });

  test.for(by("drop", fields))("$field leaves no trace upstream", (policy) => {
    expect(translate(policy).upstream.body).toEqual(plainBody);
  });

  test.for(by("reject", fields))("$field is refused by name", (policy) => {
    expect(() => translate(policy)).toThrow(expect.objectContaining({ code: "invalid_request", field: policy.field }));
  });

  test.for(by("reject", contents))("$field is refused, and the error names its position", (policy) => {
    const refused = refusedField(direction, policy).replaceAll(/\[\d+\]/g, "[]");
    expect(namesOf(direction, policy)).toContain(refused);
  });

  test.for(taken(all))("$field is accepted, not listed as dropped", (policy) => {
    expect(translate(policy).dropped).toEqual([]);
  });

  test.for(taken(all).filter(({ field }) => !UNSEEN_UPSTREAM.includes(field)))("$field reaches the upstream", (policy) => {
    expect(translate(policy).upstream.body.equals(plainBody)).toBe(false);
  });

  test.for(all.filter(({ droppedBy }) => droppedBy !== undefined))(
    "$field is listed if the server does not accept it",
    (policy) => {
      const { dropped } = translateRequest(direction, exampleRequest(direction, policy), policy.droppedBy);
      expect(dropped).toEqual([policy.field]);
    },
  );

  test.for(optionals(direction))("$field: $value requests nothing", ({ field, value }) => {
    const translation = translateRequest(direction, { ...plain, [field]: JSON.parse(value) });
    expect(translation.dropped).toEqual([]);
  });

  test.for(fields.filter(isRequired(direction)))("$field is required", ({ field }) => {
    const refusal = expect.objectContaining({ code: "invalid_request", field });
    expect(() => translateRequest(direction, { ...plain, [field]: null })).toThrow(refusal);
    expect(() => translateRequest(direction, { ...plain, [field]: undefined })).toThrow(refusal);
  });

  test("everything is in the tables once", () => {
    const names = all.map(({ field }) => field);
    expect(new Set(names).size).toBe(names.length);
  });

  test("an unknown field is dropped and listed, in characters that a header can carry", () => {
    const { dropped } = translateRequest(direction, { ...plain, "x-new\r\nfield é": 1, ["long".repeat(100)]: 2 });
    expect(dropped).toEqual(["x-new??field??", "long".repeat(16)]);
    const proto = JSON.stringify(plain).replace("{", '{"__proto__":1,');
    expect(translateRequest(direction, JSON.parse(proto)).dropped).toEqual(["__proto__"]);
  });

  test("thousands of unknown fields do not make an endless header", () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field_${index}`, 1]));
    expect(translateRequest(direction, { ...plain, ...many }).dropped).toHaveLength(16);
  });
});

test("a member that asks for nothing is not listed, whatever stands beside it", () => {
  const dropped = (options: object) =>
    translateRequest(CHAT_VIA_MESSAGES, { ...CHAT_VIA_MESSAGES.plain, stream_options: options }).dropped;
  expect(dropped({ include_usage: true, include_obfuscation: false })).toEqual([]);
  expect(dropped({ include_obfuscation: null })).toEqual([]);
  expect(dropped({ include_obfuscation: true, constructor: 1 })).toEqual([
    "stream_options.include_obfuscation",
    "stream_options.constructor",
  ]);
});

function by(action: Policy["action"], policies: readonly Policy[]): Policy[] {
  return policies.filter((policy) => policy.action === action);
}

function taken(policies: readonly Policy[]): Policy[] {
  return [...by("map", policies), ...by("emulate", policies)];
}

function isRequired({ client }: PolicyDirection): (policy: Policy) => boolean {
  const names = new Set<string>(REQUIRED[client]);
  return ({ field }) => names.has(field);
}

function optionals(direction: PolicyDirection): { field: string; value: string }[] {
  const optional = policiesOf(direction, direction.fields).filter((policy) => !isRequired(direction)(policy));
  return optional.flatMap(({ field, neutral }) =>
    [null, ...(neutral ?? [])].map((value) => ({ field, value: JSON.stringify(value) })),
  );
}

function refusedField(direction: PolicyDirection, policy: Policy): string {
  try {
    translateRequest(direction, exampleRequest(direction, policy));
    return "nothing was refused";
  } catch (thrown) {
    return thrown instanceof GatewayError ? (thrown.field ?? "no field") : String(thrown);
  }
}

/**
 * The names that an error may give to what a row refuses: where it stands, or what holds it. The tables write [] where a
 * request has an index.
 */
function namesOf({ client }: PolicyDirection, { field }: Policy): string[] {
  if (client === "messages") return ["messages[]", "messages[].content[]", "messages[].content[].source.url", "tools[]"];
  const steps = (field.split(":")[0] ?? "").split(".");
  return steps.map((_, index) => steps.slice(0, index + 1).join("."));
}
