import { PROFILE_NAMES, PROFILES, profileFlagsSchema, type Profile } from "../../contract/profile.ts";
import { code, markdownTable } from "../support/documents/markdown-table.ts";

const FLAGS = profileFlagsSchema.keyof().options;

/** What each profile flag means, in the words that `kubectl explain` shows. */
export function flagTable(): string {
  return markdownTable(
    ["Flag", "Values", "Meaning"],
    FLAGS.map((flag) => [code(flag), valuesOf(flag), profileFlagsSchema.shape[flag].description ?? ""]),
  );
}

/** The presets, flag by flag. */
export function presetTable(): string {
  const rows = FLAGS.map((flag) => [code(flag), ...PROFILE_NAMES.map((name) => valueText(PROFILES[name][flag]))]);
  return markdownTable(["Flag", ...PROFILE_NAMES.map(code)], rows);
}

function valuesOf(flag: keyof Profile): string {
  const schema = profileFlagsSchema.shape[flag];
  if ("options" in schema) return schema.options.map(code).join(", ");
  const value = PROFILES.generic[flag];
  if (typeof value === "boolean") return "`true`, `false`";
  if (Array.isArray(value)) return "a list of fields";
  return flag === "maxStopSequences" || flag === "minOutputTokens" ? "a number, `null`" : "a map of efforts";
}

function valueText(value: Profile[keyof Profile]): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "nothing" : value.map(code).join(" ");
  if (typeof value !== "object") return code(String(value));
  if (value === null) return "no limit";
  const pairs = Object.entries(value).map(([from, to]) => `${from} → ${to}`);
  return pairs.length === 0 ? "as they are" : pairs.join(", ");
}
