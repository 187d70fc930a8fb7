import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember, scanElements, scanMembers } from "../../protocol/json/scan.ts";
import { editMembers, remove, write } from "../../protocol/json/splice.ts";
import { below, fieldError, fieldPath } from "../conversation/field-path.ts";
import type { Tool } from "../conversation/tool.ts";
import { outputSchema } from "./output-schema.ts";

/** Messages servers accept none of these at the top of a tool's schema. */
const COMBINATIONS = ["allOf", "anyOf", "oneOf"] as const;
type Combination = (typeof COMBINATIONS)[number];

const WORDS = {
  allOf: "all of these schemas",
  anyOf: "at least one of these schemas",
  oneOf: "exactly one of these schemas",
} as const satisfies Record<Combination, string>;

/** Longer alternatives would cost more tokens in the description than they are worth. */
const MAX_DESCRIBED_BYTES = 4 * 1024;
const EMPTY = Buffer.from("[]");

interface Input {
  description: string | undefined;
  input_schema: RawJson;
}

/**
 * A tool's description and schema in a form that a messages server accepts. Combined schemas become one object that has all of
 * their properties and requires those that every one of them requires; the description covers the rest for the model. Strict
 * tools follow the rules of structured output.
 * @throws GatewayError `invalid_request` for a strict tool whose input would be checked less strictly than its schema requires.
 */
export function writeInput({ name, description, schema, strict }: Tool): Input {
  const used = COMBINATIONS.filter((combination) => Array.isArray(schema.parsed[combination]));
  const [first] = used;
  if (first === undefined) {
    const text = strict ? outputSchema(schema.text, below(fieldPath("tools"), name)) : schema.text;
    return { description: description ?? undefined, input_schema: text };
  }
  if (strict) {
    const rest = `: the strict tool "${name}" has \`${first}\` at the top of its schema, which this model's server does not accept. Leave out \`strict\`, or write one object.`;
    throw fieldError(fieldPath("tools"), rest);
  }
  const raw = Buffer.from(schema.text.text);
  const described = used.map((combination) => describe(combination, rawMember(raw, combination) ?? EMPTY));
  return {
    description: [description, ...described].filter(Boolean).join("\n"),
    input_schema: new RawJson(merge(raw, used).toString("utf8")),
  };
}

function describe(combination: Combination, branches: Buffer): string {
  const rule = `The input must match ${WORDS[combination]}`;
  return branches.length > MAX_DESCRIBED_BYTES ? `${rule}.` : `${rule}: ${branches.toString("utf8")}`;
}

function merge(root: Buffer, used: readonly Combination[]): Buffer {
  const properties = new Map<string, Property>();
  const required = namesIn(root);
  const definitions = definitionsOf(root);
  add(properties, root, "allOf");
  for (const combination of used) {
    const all = scanElements(rawMember(root, combination) ?? EMPTY).map((branch) => resolve(branch, definitions));
    // A definition that many branches refer to is read once.
    const branches = [...new Set(all)];
    for (const branch of branches) add(properties, branch, combination === "allOf" ? "allOf" : "anyOf");
    const names = branches.map(namesIn);
    for (const name of combination === "allOf" ? names.flatMap((set) => [...set]) : shared(names)) required.add(name);
  }
  const members = [...properties].map(([name, property]) => `${JSON.stringify(name)}:${propertySchema(property)}`);
  return editMembers(root, {
    ...Object.fromEntries(used.map((combination) => [combination, remove])),
    properties: () => Buffer.from(`{${members.join(",")}}`),
    required: required.size === 0 ? (value) => value : write([...required]),
  });
}

/** Schemas of one property, as written. */
interface Property {
  join: "allOf" | "anyOf";
  schemas: Set<string>;
}

function add(properties: Map<string, Property>, schema: Buffer, join: Property["join"]): void {
  const held = rawMember(schema, "properties") ?? EMPTY;
  for (const { name, value } of scanMembers(held)) {
    const text = held.toString("utf8", value.start, value.end);
    const known = properties.get(name);
    if (known === undefined) properties.set(name, { join, schemas: new Set([text]) });
    else if (!known.schemas.has(text)) {
      known.schemas.add(text);
      // An alternative may allow values that the enclosing schema does not: accept either.
      if (join === "anyOf") known.join = join;
    }
  }
}

function propertySchema({ join, schemas }: Property): string {
  const texts = [...schemas].join(",");
  return schemas.size === 1 ? texts : `{"${join}":[${texts}]}`;
}

function namesIn(schema: Buffer): Set<string> {
  const required: unknown = JSON.parse(rawMember(schema, "required")?.toString("utf8") ?? "null");
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
}

/** Names that every set has. */
function shared([first = new Set(), ...others]: readonly Set<string>[]): Set<string> {
  return others.reduce((names, other) => new Set([...names].filter((name) => other.has(name))), first);
}

/** The definition that a branch refers to, or the branch itself. */
function resolve(branch: Buffer, definitions: ReadonlyMap<string, Buffer>): Buffer {
  const reference: unknown = JSON.parse(rawMember(branch, "$ref")?.toString("utf8") ?? "null");
  return (typeof reference === "string" ? definitions.get(reference) : undefined) ?? branch;
}

function definitionsOf(root: Buffer): Map<string, Buffer> {
  const all = ["$defs", "definitions"].flatMap((holder) => {
    const held = rawMember(root, holder) ?? EMPTY;
    return scanMembers(held).map(({ name, value }) => [`#/${holder}/${name}`, held.subarray(value.start, value.end)] as const);
  });
  return new Map(all);
}
