import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PROFILE_NAMES, profileSchema, PROFILES, type Profile } from "../../contract/profile.ts";
import { code, markdownTable } from "../support/markdown-table.ts";

const FLAGS = profileSchema.keyof().options;

/** What each profile flag means: the comment that stands over it. */
export function flagTable(): string {
  const source = readFileSync(join(import.meta.dirname, "../../contract/profile.ts"), "utf8");
  return markdownTable(
    ["Flag", "Values", "Meaning"],
    FLAGS.map((flag) => [code(flag), valuesOf(flag), commentOver(flag, source)]),
  );
}

/** The presets, flag by flag. */
export function presetTable(): string {
  const rows = FLAGS.map((flag) => [code(flag), ...PROFILE_NAMES.map((name) => valueText(PROFILES[name][flag]))]);
  return markdownTable(["Flag", ...PROFILE_NAMES.map(code)], rows);
}

function commentOver(flag: string, source: string): string {
  const comment = new RegExp(String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\s*${flag}: z`).exec(source)?.[1];
  if (comment === undefined)
    throw new Error(`contract/profile.ts has no comment over \`${flag}\`, which is its text in the page.`);
  return comment.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
}

function valuesOf(flag: keyof Profile): string {
  const schema = profileSchema.shape[flag];
  if ("options" in schema) return schema.options.map(code).join(", ");
  const value = PROFILES.generic[flag];
  if (typeof value === "boolean") return "`true`, `false`";
  if (Array.isArray(value)) return "a list of fields";
  return flag === "maxStopSequences" ? "a number, `null`" : "an effort for an effort";
}

function valueText(value: Profile[keyof Profile]): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "nothing" : value.map(code).join(" ");
  if (typeof value !== "object") return code(String(value));
  if (value === null) return "no limit";
  const pairs = Object.entries(value).map(([from, to]) => `${from} → ${to}`);
  return pairs.length === 0 ? "as they are" : pairs.join(", ");
}
