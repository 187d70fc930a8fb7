import { isReadableJson } from "./readable.ts";

/** What one side of a conversation said, for people. */
export interface Turn {
  role: string;
  parts: Part[];
}

/** A piece of a turn; `title` says which tool, or what else it is. */
export interface Part {
  kind: "text" | "reasoning" | "tool_call" | "tool_result" | "other";
  title: string | null;
  text: string;
}

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Undefined for what is no JSON object, such as a text that was cut, or would be too long to show. */
export function parseObject(text: string): Json | undefined {
  if (!isReadableJson(text)) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

/** A text as it is, anything else as JSON; "" for nothing. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : pretty(value);
}

/** Arguments of a tool are JSON in a string, or an object. */
export function argumentsOf(value: unknown): string {
  const parsed = typeof value === "string" ? parseObject(value) : undefined;
  return parsed === undefined ? asText(value) : pretty(parsed);
}

export function part(kind: Part["kind"], text: string, title: string | null = null): Part {
  return { kind, title, text };
}

/** Without those that say nothing. */
export function turn(role: unknown, parts: readonly Part[]): Turn[] {
  const worded = parts.filter(({ kind, text }) => text !== "" || kind === "tool_call");
  return worded.length === 0 ? [] : [{ role: typeof role === "string" ? role : "unknown", parts: worded }];
}
