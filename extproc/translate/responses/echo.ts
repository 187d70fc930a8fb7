import type { JsonObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editElements, editMembers, type MemberEdit, type MemberEdits } from "../../protocol/json/splice.ts";

/** Members that a response repeats, if the request has them. */
const ECHOED = [
  "instructions",
  "max_output_tokens",
  "metadata",
  "parallel_tool_calls",
  "prompt_cache_key",
  "reasoning",
  "safety_identifier",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
  "user",
] as const;

/**
 * What a response repeats of its request, as written: a schema's big integers survive. On one line, which is how clients expect an
 * event's data. @param body the request as written.
 */
export function echo(parsed: JsonObject, body: Buffer): { readonly [name: string]: RawJson } {
  const there = ECHOED.filter((name) => (parsed[name] ?? null) !== null);
  const text = (name: (typeof ECHOED)[number]) =>
    completed(name, rawMember(body, name) ?? NOTHING)
      .toString("utf8")
      .replaceAll(LINE_BREAKS, "");
  return Object.fromEntries(there.map((name) => [name, new RawJson(text(name))]));
}

const NOTHING = Buffer.from("null");

function completed(name: (typeof ECHOED)[number], written: Buffer): Buffer {
  const edits = COMPLETED.get(name);
  if (edits !== undefined) return editMembers(written, edits);
  return name === "tools" ? editElements(written, completedTool) : written;
}

function completedTool(tool: Buffer): Buffer {
  if (rawMember(tool, "type")?.equals(FUNCTION) !== true) return tool;
  return editMembers(tool, { description: orElse(NOTHING), parameters: orElse(NOTHING), strict: orElse(NOT_STRICT) });
}

const FUNCTION = Buffer.from('"function"');
/** What an absent `strict` means here. */
const NOT_STRICT = Buffer.from("false");

function orElse(value: Buffer): MemberEdit {
  return (written) => written ?? value;
}

const PLAIN_TEXT = Buffer.from('{"type":"text"}');

/** Strict clients check that these have all their members; SDKs read the format of every response. */
const COMPLETED: ReadonlyMap<string, MemberEdits> = new Map<string, MemberEdits>([
  ["text", { format: (format) => (format === undefined || format.equals(NOTHING) ? PLAIN_TEXT : format) }],
  ["reasoning", { effort: orElse(NOTHING), summary: orElse(NOTHING) }],
]);

/** In JSON they occur only between values, never inside a string. */
const LINE_BREAKS = /[\r\n]+\s*/g;
