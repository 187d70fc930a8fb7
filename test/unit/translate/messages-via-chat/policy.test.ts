import { describe, expect, test } from "vitest";
import { CONTENT_POLICIES, FIELD_POLICIES, type FieldPolicy } from "../../../../extproc/translate/messages-via-chat/policy.ts";
import { PLAIN, translate } from "./chat.ts";

const TOOLS = { tools: [{ name: "f" }] };
const fields: FieldPolicy[] = [...FIELD_POLICIES];
const contents: FieldPolicy[] = [...CONTENT_POLICIES];
const REQUIRED = ["model", "max_tokens", "messages"];
/** Named by the generic profile, whose server takes neither. */
const NAMED_BY_GENERIC = ["metadata", "service_tier"];

function by(action: FieldPolicy["action"], policies: readonly FieldPolicy[]): FieldPolicy[] {
  return policies.filter((policy) => policy.action === action);
}

function requestWith({ field, example }: FieldPolicy): object {
  return { ...PLAIN, ...TOOLS, [field]: example };
}

function requestAround({ example }: FieldPolicy): object {
  return { ...PLAIN, ...Object(example) };
}

describe("every top-level field does what the table says (S21)", () => {
  test.for(by("drop", fields))("$field is dropped and named", (policy) => {
    const translation = translate(requestWith(policy));
    expect(translation.dropped).toContain(policy.field);
    expect(translation.upstream.body.equals(translate({ ...PLAIN, ...TOOLS }).upstream.body)).toBe(true);
  });

  test.for(by("reject", fields))("$field is refused by name", (policy) => {
    expect(() => translate(requestWith(policy))).toThrow(
      expect.objectContaining({ code: "invalid_request", field: policy.field }),
    );
  });

  test.for(by("map", fields))("$field is not dropped", (policy) => {
    const expected = NAMED_BY_GENERIC.includes(policy.field) ? [policy.field] : [];
    expect(translate(requestWith(policy)).dropped).toEqual(expected);
  });

  const optional = fields.filter(({ field }) => !REQUIRED.includes(field));

  test.for(optional)("$field with null asks for nothing", ({ field }) => {
    expect(translate({ ...PLAIN, [field]: null }).dropped).toEqual([]);
  });

  test.for(REQUIRED)("%s is required", (field) => {
    expect(() => translate({ ...PLAIN, [field]: null })).toThrow(expect.objectContaining({ code: "invalid_request", field }));
    expect(() => translate({ ...PLAIN, [field]: undefined })).toThrow(
      expect.objectContaining({ code: "invalid_request", field }),
    );
  });

  test("an unknown field is dropped and named, in characters that a header can carry", () => {
    expect(translate({ ...PLAIN, min_p: 0.1, "x\r\ny": 1, __proto__: 1 }).dropped).toEqual(["min_p", "x??y"]);
    expect(translate(JSON.stringify(PLAIN).replace("{", '{"__proto__":1,')).dropped).toEqual(["__proto__"]);
  });

  test("thousands of unknown fields make no endless header", () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field_${index}`, 1]));
    expect(translate({ ...PLAIN, ...many }).dropped.length).toBeLessThan(50);
  });
});

describe("everything inside messages, system and tools does what the table says", () => {
  test.for(by("drop", contents))("$field is dropped and named", (policy) => {
    expect(translate(requestAround(policy)).dropped).toContain(policy.field);
  });

  test.for(by("reject", contents))("$field is refused by name", (policy) => {
    expect(() => translate(requestAround(policy))).toThrow(
      expect.objectContaining({ code: "invalid_request", field: expect.stringMatching(/^(messages|tools)\[\d\]/) }),
    );
  });

  test.for([...by("map", contents), ...by("emulate", contents)])("$field is not dropped", (policy) => {
    expect(translate(requestAround(policy)).dropped).toEqual([]);
  });

  test("every field stands in the table once", () => {
    const names = [...fields, ...contents].map(({ field }) => field);
    expect(new Set(names).size).toBe(names.length);
  });
});
