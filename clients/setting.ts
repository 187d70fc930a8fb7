import type { Setting } from "./tool.ts";

/** A number in a JSON value, which the installer fills in. */
export function numberOf(name: "context" | "output"): string {
  return `@number:${name}@`;
}

/** An object or a list with one part for every model that the key may use. */
export function eachModel(shape: "object" | "list", part: string): string {
  return shape === "object" ? `@raw:{@each{${part}}each@}@` : `@raw:[@each{${part}}each@]@`;
}

/** A value in a JSON file, at a path of names. */
export function jsonSetting(path: readonly string[], value: unknown, kind: Setting["kind"] = "set"): Setting {
  return { kind, path: [...path], value: jsonText(value) };
}

function jsonText(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/"@number:(\w+)@"/g, "@$1@")
    .replaceAll(/"@raw:((?:[^"\\]|\\.)*)@"/g, (_whole, raw: string) => raw.replaceAll(String.raw`\"`, '"'));
}

/** A statement of a TOML, YAML or variable file. */
export function statement(name: string, lines: readonly string[], kind: Setting["kind"] = "set"): Setting {
  return { kind, path: [name], value: lines.join("\n") };
}
