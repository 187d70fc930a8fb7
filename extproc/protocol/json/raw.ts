import { GatewayError } from "../../../contract/errors.ts";

/**
 * JSON text that is inserted verbatim into a bigger JSON text. Only this way do a schema's 64-bit limits, the order of its
 * members and a tool's arguments survive translation: JSON.parse rounds big integers and moves integer-like names.
 */
export class RawJson {
  readonly text: string;

  /** @param text one valid JSON value; the caller has parsed it. */
  constructor(text: string) {
    this.text = text;
  }
}

/** Values that `encodeJson` writes: JSON's own, and raw text between them. Members that are undefined are left out. */
export type Encodable =
  | string
  | number
  | boolean
  | null
  | undefined
  | RawJson
  | readonly Encodable[]
  | { readonly [name: string]: Encodable };

/** Compact JSON like JSON.stringify's, with raw text verbatim. Recurses: raw text is how deep foreign values get in. */
export function encodeJson(value: Encodable): string {
  if (value instanceof RawJson) return wellFormed(value.text);
  if (isList(value)) return `[${value.map((element) => encodeJson(element ?? null)).join(",")}]`;
  if (typeof value === "object" && value !== null) return encodeObject(value);
  return JSON.stringify(value ?? null);
}

function encodeObject(value: { readonly [name: string]: Encodable }): string {
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}:${encodeJson(member)}`],
  );
  return `{${members.join(",")}}`;
}

/** A value that a server sent, as JSON. @throws GatewayError `upstream_error` if it is nested too deeply to be written. */
export function encodeForeign(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent JSON that is nested too deeply.", { cause });
  }
}

/** A lone surrogate has no UTF-8 form. In JSON it can occur only inside a string, where its escape means the same. */
function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

function isList(value: Encodable): value is readonly Encodable[] {
  return Array.isArray(value);
}
