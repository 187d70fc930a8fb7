import * as z from "zod";
import { operationsOf, type Filling, type Operation } from "./operations.ts";
import type { SettingsFile } from "./tool.ts";

/** The text that the installer writes if the settings file does not exist yet. */
export function exampleFile(file: SettingsFile, filling: Filling): string {
  const operations = operationsOf(file, filling);
  if (file.format === "json" || file.format === "jsonc") return jsonExample(operations);
  const statements = operations.map(({ path, value }) => asStatement(path[0] ?? "", value));
  return statements.join("\n").replaceAll(/\n\[/g, "\n\n[");
}

/** An item of a YAML list is below the list's name. */
function asStatement(name: string, text: string): string {
  const list = /^(\w+)\[name=/.exec(name)?.[1];
  if (list === undefined) return text;
  return [`${list}:`, ...text.split("\n").map((line) => `  ${line}`)].join("\n");
}

function jsonExample(operations: readonly Operation[]): string {
  const root: Record<string, unknown> = {};
  for (const { path, value } of operations) put(root, path, JSON.parse(value));
  return JSON.stringify(root, null, 2);
}

const objectSchema = z.record(z.string(), z.unknown());

function put(parent: Record<string, unknown>, [name = "", next, ...rest]: readonly string[], value: unknown): void {
  if (next === undefined) {
    parent[name] = value;
    return;
  }
  if (/^\[\w+=/.test(next)) {
    const list = Array.isArray(parent[name]) ? parent[name] : [];
    parent[name] = [...list, value];
    return;
  }
  const child = objectSchema.safeParse(parent[name]);
  const object = child.success ? child.data : {};
  parent[name] = object;
  put(object, [next, ...rest], value);
}
