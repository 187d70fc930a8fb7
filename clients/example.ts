import * as z from "zod";
import { ASSUMED_CONTEXT, type OfferedModel } from "./models.ts";
import type { SettingsFile } from "./tool.ts";

/** What stands for the placeholders of a settings file. */
export interface Filling {
  baseUrl: string;
  /** `<your key>`, on a page. */
  key: string;
  /** Of the file's interface; the first is the one that the tool begins with. */
  models: readonly OfferedModel[];
}

/** The settings that the installer writes into a file that was not there, as text. */
export function exampleFile(file: SettingsFile, filling: Filling): string {
  if (file.format === "json" || file.format === "jsonc") return jsonExample(file, filling);
  const statements = file.settings.map(({ path, value }) => asStatement(path[0] ?? "", fill(value, filling)));
  return statements.join("\n").replaceAll(/\n\[/g, "\n\n[");
}

/** An item of a YAML list stands below the list's name. */
function asStatement(name: string, text: string): string {
  const list = /^(\w+)\[name=/.exec(name)?.[1];
  if (list === undefined) return text;
  return [`${list}:`, ...text.split("\n").map((line) => `  ${line}`)].join("\n");
}

function jsonExample(file: SettingsFile, filling: Filling): string {
  const root: Record<string, unknown> = {};
  for (const { kind, path, value } of file.settings) {
    const models = kind === "each" ? filling.models : filling.models.slice(0, 1);
    for (const model of models) {
      const names = path.map((name) => name.replaceAll("@id@", model.name));
      put(root, names, JSON.parse(fill(ofModel(value, model), filling)));
    }
  }
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

function fill(text: string, filling: Filling): string {
  const [first] = filling.models;
  if (first === undefined) return text;
  const each = text.replaceAll(/@each\{([\s\S]*?)\}each@/g, (_whole, part: string) =>
    filling.models.map((model) => ofModel(part, model)).join(","),
  );
  return ofModel(each, first)
    .replaceAll("@base@", filling.baseUrl)
    .replaceAll("@key@", filling.key)
    .replaceAll("@model@", first.name)
    .replaceAll("@small@", (filling.models.find(({ isSmall }) => isSmall) ?? first).name);
}

function ofModel(text: string, model: OfferedModel): string {
  if (text.includes("@each{")) return text;
  return text
    .replaceAll("@id@", model.name)
    .replaceAll("@context@", String(model.contextWindow ?? ASSUMED_CONTEXT))
    .replaceAll("@output@", String(model.maxOutputTokens));
}
