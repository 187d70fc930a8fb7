import { ASSUMED_CONTEXT, type OfferedModel } from "./models.ts";
import type { Setting, SettingsFile } from "./tool.ts";

/** Replacements for the placeholders of a settings file. */
export interface Filling {
  baseUrl: string;
  /** `<your key>` on a page; `@key@` if the key is filled in later. */
  key: string;
  /** The models that the key may use on the file's interface. */
  models: readonly OfferedModel[];
  /** The default one. */
  model: OfferedModel;
}

/** One value to write, with every placeholder replaced. */
export interface Operation {
  kind: Exclude<Setting["kind"], "each">;
  path: readonly string[];
  /** JSON text; in other formats the statement. */
  value: string;
}

export function operationsOf(file: Pick<SettingsFile, "settings">, filling: Filling): Operation[] {
  return file.settings.flatMap(({ kind, path, value }) => {
    if (kind !== "each") return [{ kind, path: path.map((name) => fill(name, filling)), value: fill(value, filling) }];
    return filling.models.map((model) => ({
      kind: "set" as const,
      path: path.map((name) => fill(ofModel(name, model), filling)),
      value: fill(ofModel(value, model), filling),
    }));
  });
}

function fill(text: string, { baseUrl, key, models, model }: Filling): string {
  const each = text.replaceAll(/@each\{([\s\S]*?)\}each@/g, (_whole, part: string) =>
    models.map((one) => ofModel(part, one)).join(","),
  );
  return ofModel(each, model)
    .replaceAll("@base@", baseUrl)
    .replaceAll("@key@", key)
    .replaceAll("@model@", model.name)
    .replaceAll("@small@", (models.find(({ isSmall }) => isSmall) ?? model).name);
}

function ofModel(text: string, model: OfferedModel): string {
  if (text.includes("@each{")) return text;
  return text
    .replaceAll("@id@", model.name)
    .replaceAll("@context@", String(model.contextWindow ?? ASSUMED_CONTEXT))
    .replaceAll("@output@", String(model.maxOutputTokens));
}
