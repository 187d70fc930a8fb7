import { RawJson } from "../../protocol/json/raw.ts";
import { skipString, type Member } from "../../protocol/json/scan.ts";
import { applyCuts, memberCuts, type Cut, type EditedValue } from "../../protocol/json/splice.ts";
import { walkObjects, type WalkedMember, type WalkedObject } from "../../protocol/json/walk.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";
import { holdsSchema } from "../conversation/schema-keywords.ts";
import { describeBounds, isRefusedBound } from "./schema-bounds.ts";

/** An error reports anything deeper by the schema around it. */
const MAX_NAMED_DEPTH = 32;

interface Position {
  readonly isSchema: boolean;
  readonly at: FieldPath;
  readonly depth: number;
}

/**
 * A schema of structured output in a form that messages servers accept: objects are closed, `oneOf` is `anyOf`, and the bounds of
 * numbers, texts and lists move to the description. Everything else is unchanged.
 * @throws GatewayError `invalid_request` for an object that can't be closed without changing its meaning.
 */
export function outputSchema(schema: RawJson, at: FieldPath): RawJson {
  const raw = Buffer.from(schema.text);
  const cuts = walkObjects(raw, { isSchema: true, at, depth: 0 }, enter).flatMap((object) =>
    object.position.isSchema ? schemaCuts(raw, object) : [],
  );
  if (cuts.length === 0) return schema;
  const sorted = cuts.toSorted((one, other) => one.start - other.start);
  return new RawJson(applyCuts(raw, sorted).toString("utf8"));
}

function enter({ isSchema, at, depth }: Position, step: string | number): Position | null {
  const isInner = holdsSchema(isSchema, step);
  if (isInner === null) return null;
  return { isSchema: isInner, at: depth < MAX_NAMED_DEPTH ? below(at, step) : at, depth: depth + 1 };
}

function schemaCuts(raw: Buffer, { position: { at }, start, members }: WalkedObject<Position>): Cut[] {
  const text = ({ value }: Member) => raw.toString("utf8", value.start, value.end);
  const find = (name: string) => members.findLast((member) => member.name === name);
  const bounds = new Set(members.filter((member) => isRefusedBound(member.name, () => text(member))));
  const added: string[] = [];
  const values = members.map((member): EditedValue => (bounds.has(member) ? "removed" : "unchanged"));
  if (bounds.size > 0) {
    const description = find("description");
    const written = describeBounds(
      [...bounds].map((member) => ({ name: member.name, value: text(member) })),
      description === undefined ? null : JSON.parse(text(description)),
    );
    if (description === undefined) added.push(`"description":${written}`);
    else values[members.indexOf(description)] = Buffer.from(written);
  }
  if (mustClose({ find, text, at })) added.push('"additionalProperties":false');
  const cuts = memberCuts({ members, values, added, inside: start + 1 });
  return [...cuts, ...renameOneOf(raw, find)];
}

type Find = (name: string) => WalkedMember | undefined;

/** The model chooses one alternative in either case. */
function renameOneOf(raw: Buffer, find: Find): Cut[] {
  const oneOf = find("oneOf");
  if (oneOf === undefined || find("anyOf") !== undefined || oneOf.elements === 0) return [];
  const { start } = oneOf.span;
  return [{ start, end: skipString(raw, start), bytes: '"anyOf"' }];
}

interface Closing {
  find: Find;
  text: (member: Member) => string;
  at: FieldPath;
}

function mustClose({ find, text, at }: Closing): boolean {
  const additional = find("additionalProperties");
  if (additional === undefined) return isObjectSchema({ find, text }) && !isCombined({ find, at });
  if (text(additional) === "false") return false;
  throw fieldError(
    below(at, "additionalProperties"),
    " must be false for this model, whose structured output only has members that the schema lists. List the properties, or use an array of names and values.",
  );
}

/** Closing each of several schemas of one object would exclude the properties of the others. */
function isCombined({ find, at }: Omit<Closing, "text">): boolean {
  const name = ["anyOf", "oneOf", "allOf"].find((candidate) => find(candidate) !== undefined);
  if (name === undefined) return false;
  const allOf = find("allOf");
  if (find("properties") === undefined && (allOf === undefined || allOf.elements < 2)) return true;
  throw fieldError(below(at, name), " can't be combined with other properties on this model. Write whole objects into `anyOf`.");
}

function isObjectSchema({ find, text }: Omit<Closing, "at">): boolean {
  const member = find("type");
  const type: unknown = member === undefined ? null : JSON.parse(text(member));
  if (type === null) return find("properties") !== undefined || find("allOf") !== undefined;
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}
