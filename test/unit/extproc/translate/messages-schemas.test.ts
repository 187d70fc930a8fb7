import { expect, test } from "vitest";
import { RawJson } from "../../../../extproc/protocol/json/raw.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { fieldPath } from "../../../../extproc/translate/conversation/field-path.ts";
import { outputSchema } from "../../../../extproc/translate/messages/output-schema.ts";
import { inputFor } from "./input.ts";

const PLAIN = { model: "modelx-v4-pro", messages: [{ role: "user", content: "hi" }] };

interface Sent {
  tools?: object[];
  output_config?: object;
}

/** What a messages server gets for a chat client's request. */
function sent(request: object): Sent {
  const translation = createTranslation("chat", inputFor({ ...PLAIN, ...request }, { upstream: "messages" }));
  const body: Sent = JSON.parse(translation.upstream.body.toString("utf8"));
  return body;
}

function sentTool(parameters: object, rest: object = {}): unknown {
  return sent({ tools: [{ type: "function", function: { name: "f", description: "Does it.", parameters, ...rest } }] })
    .tools?.[0];
}

function sentOutput(schema: object): unknown {
  const json_schema = { name: "n", strict: true, schema };
  return sent({ response_format: { type: "json_schema", json_schema } }).output_config;
}

const BY_ID = { properties: { id: { type: "string" } }, required: ["id"] };
const BY_NAME = { properties: { name: { type: "string" }, id: { type: "null" } }, required: ["name"] };

test.for(["anyOf", "oneOf"] as const)("%s at the top of a tool becomes one object, and is described", (combination) => {
  const tool = sentTool({
    type: "object",
    properties: { all: { type: "boolean" } },
    required: ["all"],
    [combination]: [BY_ID, BY_NAME],
  });
  expect(tool).toEqual({
    name: "f",
    description: expect.stringMatching(
      /^Does it\.\nThe input must match (at least|exactly) one of these schemas: \[\{"properties/,
    ),
    input_schema: {
      type: "object",
      properties: {
        all: { type: "boolean" },
        id: { anyOf: [{ type: "string" }, { type: "null" }] },
        name: { type: "string" },
      },
      required: ["all"],
    },
  });
});

test("allOf at the top of a tool combines the requirements of its schemas, with definitions resolved", () => {
  const tool = sentTool({ $defs: { ById: BY_ID }, allOf: [{ $ref: "#/$defs/ById" }, BY_NAME] });
  expect(tool).toMatchObject({
    input_schema: {
      type: "object",
      properties: { id: { allOf: [{ type: "string" }, { type: "null" }] }, name: { type: "string" } },
      required: ["id", "name"],
    },
  });
  expect(tool).not.toHaveProperty("input_schema.allOf");
});

test("digits of moved values stay as they are written", () => {
  const parameters = '{"type":"object","anyOf":[{"properties":{"n":{"const":9223372036854775807}}}]}';
  const body = JSON.stringify({ ...PLAIN, tools: [{ type: "function", function: { name: "f", parameters: 0 } }] });
  const input = inputFor(body.replace('"parameters":0', `"parameters":${parameters}`), { upstream: "messages" });
  expect(createTranslation("chat", input).upstream.body.toString("utf8")).toContain(
    '"properties":{"n":{"const":9223372036854775807}}',
  );
});

test("anyOf inside a tool's properties passes unchanged, and so do bounds", () => {
  const parameters = { type: "object", properties: { a: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] } } };
  expect(sentTool(parameters)).toMatchObject({ description: "Does it.", input_schema: parameters });
});

test("a strict tool is not weakened: a 400 names it", () => {
  const parameters = { type: "object", anyOf: [BY_ID, BY_NAME] };
  expect(() => sentTool(parameters, { strict: true })).toThrow(
    expect.objectContaining({ status: 400, field: "tools", message: expect.stringContaining('"f"') }),
  );
});

test("structured output: objects are closed, bounds are described, oneOf is anyOf", () => {
  const schema = {
    type: "object",
    properties: {
      minimum: { type: "integer", description: "The least.", minimum: 1, maximum: 5 },
      tags: { type: "array", minItems: 2, maxItems: 9, items: { type: "string", minLength: 1 } },
      one: { type: "array", minItems: 1, items: { oneOf: [{ type: "object", properties: {} }, { type: "null" }] } },
    },
    $defs: { Point: { type: ["object", "null"], properties: { x: { type: "number", multipleOf: 0.5 } } } },
  };
  expect(sentOutput(schema)).toMatchObject({
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        additionalProperties: false,
        properties: {
          minimum: { type: "integer", description: "The least.\nConstraints: minimum 1, maximum 5." },
          tags: {
            type: "array",
            description: "Constraints: minItems 2, maxItems 9.",
            items: { type: "string", description: "Constraints: minLength 1." },
          },
          one: {
            type: "array",
            minItems: 1,
            items: { anyOf: [{ type: "object", properties: {}, additionalProperties: false }, { type: "null" }] },
          },
        },
        $defs: { Point: { additionalProperties: false, properties: { x: { description: "Constraints: multipleOf 0.5." } } } },
      },
    },
  });
  expect(JSON.stringify(sentOutput(schema))).not.toMatch(/"(maximum|maxItems|minLength|multipleOf|oneOf)":/);
});

const AT = "response_format.json_schema.schema";
test.for([
  ["members of any name", { type: "object", additionalProperties: { type: "string" } }, `${AT}.additionalProperties`],
  [
    "the same inside a list",
    { type: "object", properties: { a: { type: "array", items: { type: "object", additionalProperties: true } } } },
    `${AT}.properties.a.items.additionalProperties`,
  ],
  ["alternatives beside properties", { type: "object", properties: { a: {} }, anyOf: [BY_ID] }, `${AT}.anyOf`],
  ["several objects in one", { type: "object", allOf: [BY_ID, BY_NAME] }, `${AT}.allOf`],
] as const)("structured output: %s can't be closed, and the 400 names it", ([, schema, field]) => {
  expect(() => sentOutput(schema)).toThrow(expect.objectContaining({ status: 400, field }));
});

test("structured output: a schema nested deeper than the stack is rewritten to its bottom", () => {
  const schema = `${'{"items":'.repeat(20_000)}{"type":"object","minProperties":1}${"}".repeat(20_000)}`;
  const request = JSON.stringify({ ...PLAIN, response_format: { type: "json_schema", json_schema: { schema: 0 } } });
  const input = inputFor(request.replace('"schema":0', `"schema":${schema}`), { upstream: "messages" });
  expect(createTranslation("chat", input).upstream.body.toString("utf8")).toContain(
    '{"items":{"description":"Constraints: minProperties 1.","additionalProperties":false,"type":"object"}',
  );
});

test("structured output: an error far down names the schema around it", () => {
  const schema = `${'{"items":'.repeat(20_000)}{"additionalProperties":true}${"}".repeat(20_000)}`;
  const request = JSON.stringify({ ...PLAIN, response_format: { type: "json_schema", json_schema: { schema: 0 } } });
  const input = inputFor(request.replace('"schema":0', `"schema":${schema}`), { upstream: "messages" });
  expect(() => createTranslation("chat", input)).toThrow(
    expect.objectContaining({ status: 400, field: `${AT}${".items".repeat(32)}.additionalProperties` }),
  );
});

test("a strict tool follows the rules of structured output", () => {
  const parameters = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, additionalProperties: false };
  expect(sentTool(parameters, { strict: true })).toMatchObject({
    strict: true,
    input_schema: { properties: { n: { description: "Constraints: minimum 1.", type: "integer" } } },
  });
  const open = { type: "object", properties: { a: { type: "object", additionalProperties: true } } };
  expect(() => sentTool(open, { strict: true })).toThrow(
    expect.objectContaining({ status: 400, field: "tools.f.properties.a.additionalProperties" }),
  );
});

test("a definition that very many alternatives refer to is read once", () => {
  const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, {}]));
  const anyOf = Array.from({ length: 20_000 }, () => ({ $ref: "#/$defs/A" }));
  expect(sentTool({ type: "object", $defs: { A: { properties, required: ["p7"] } }, anyOf })).toMatchObject({
    input_schema: { required: ["p7"] },
  });
});

test("formats that servers know stay, others are described", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string", format: "uuid" }, b: { type: "string", format: "phone" } },
  };
  expect(sentOutput(schema)).toMatchObject({
    format: {
      schema: {
        properties: { a: { type: "string", format: "uuid" }, b: { type: "string", description: 'Constraints: format "phone".' } },
      },
    },
  });
});

test("structured output that a messages server accepts passes byte for byte", () => {
  const schema = { type: "object", properties: { b: { type: "string" }, a: { type: "integer" } }, additionalProperties: false };
  expect(JSON.stringify(sentOutput(schema))).toContain(JSON.stringify(schema));
});

test.for([
  ["oneOf", "anyOf"],
  ["allOf", "allOf"],
] as const)("%s inside %s, tens of thousands deep, is read once and not once per level", ([written, sent]) => {
  const nested = (name: string) => new RawJson(`{"${name}":[`.repeat(45_000) + "{}" + "]}".repeat(45_000));
  expect(outputSchema(nested(written), fieldPath("schema")).text === nested(sent).text).toBe(true);
});
