import * as z from "zod";

/** Interfaces that a tool may use. `responses` is OpenAI's newer interface. */
const interfaceName = z.enum(["chat", "messages", "responses"]);
export type InterfaceName = z.infer<typeof interfaceName>;

const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/);

/**
 * One value in a settings file. `path` and `value` may contain `@base@` (without `/v1`), `@key@`, `@model@`, `@small@` (the
 * cheapest model), `@context@` and `@output@` (limits of the chosen model); with `each`, once for every model, `@id@`.
 */
const setting = z.strictObject({
  /** `default` leaves an existing value, and so does `touch`, but the tool rewrites it; `each` is repeated for each model. */
  kind: z.enum(["set", "default", "touch", "each"]).default("set"),
  /** JSON: names, where `[id=x]` is an item of a list. TOML, YAML and variables: the one statement. */
  path: z.array(z.string().min(1)).min(1),
  /** The value as JSON text; otherwise the whole statement, possibly over several lines. */
  value: z.string(),
});

const settingsFile = z.strictObject({
  interface: interfaceName,
  format: z.enum(["json", "jsonc", "toml", "yaml", "env"]),
  /** The variable that changes the folder, if the tool has one. */
  folderVariable: variable.nullable(),
  /** Below the home folder. */
  folder: z.string().regex(/^[\w./-]+$/),
  /** Of several names the first existing one is used, otherwise the last. */
  names: z.array(z.string().regex(/^[\w./-]+$/)).min(1),
  settings: z.array(setting).min(1),
});

const servedTool = z.strictObject({
  kind: z.literal("served"),
  id: z.string().regex(/^[a-z][a-z-]*$/),
  name: z.string(),
  /** The package, and the version that the tests run. null: the tests do not run it, for this reason. */
  tried: z.strictObject({ registry: z.enum(["npm", "PyPI", "Go"]), package: z.string(), version: z.string() }).nullable(),
  notTriedBecause: z.string().optional(),
  /** The recommended one first. */
  interfaces: z.array(interfaceName).min(1),
  /** The tool is installed if one of these exists. */
  commands: z.array(z.string()),
  folders: z.array(z.string()),
  files: z.array(settingsFile).min(1),
  /** Variables that may override the setup. */
  clear: z.array(variable),
  /** How to check that it works. */
  check: z.string(),
  /** Shown after the installation. */
  afterwards: z.array(z.string()),
  limits: z.array(z.string()),
  /** Other hosts that it tries to contact, as seen in the tests, which block them. */
  otherHosts: z.array(z.string()),
});

/** A tool that people set up in its own window, because its settings are not in a file that another program can write. */
const manualTool = z.strictObject({
  kind: z.literal("manual"),
  id: z.string(),
  name: z.string(),
  interfaces: z.array(interfaceName).min(1),
  because: z.string(),
  steps: z.array(z.string()).min(1),
  limits: z.array(z.string()),
});

const unservedTool = z.strictObject({ kind: z.literal("unserved"), id: z.string(), name: z.string(), because: z.string() });

export const toolSchema = z.discriminatedUnion("kind", [servedTool, manualTool, unservedTool]);

export type ServedTool = z.infer<typeof servedTool>;
export type Tool = z.infer<typeof toolSchema>;
export type Setting = z.infer<typeof setting>;
export type SettingsFile = z.infer<typeof settingsFile>;
