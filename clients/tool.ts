import * as z from "zod";

/** What a tool may speak to this service. `responses` is OpenAI's newer interface. */
const interfaceName = z.enum(["chat", "messages", "responses"]);
export type InterfaceName = z.infer<typeof interfaceName>;

const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/);

/**
 * One value in a settings file. In `path` and `value` stand `@base@` (without `/v1`), `@key@`, `@model@`, `@small@` (the
 * cheapest model), `@context@` and `@output@` (limits of the chosen model); with `each`, once for every model, `@id@`.
 */
const setting = z.strictObject({
  /** `default` leaves what is there, and `touch` too, but the tool writes it anew; `each` is said once a model. */
  kind: z.enum(["set", "default", "touch", "each"]).default("set"),
  /** JSON: names, of which `[id=x]` is an item of a list. TOML, YAML and variables: the one statement. */
  path: z.array(z.string().min(1)).min(1),
  /** The value as JSON text; elsewhere the whole statement, over several lines. */
  value: z.string(),
});

const settingsFile = z.strictObject({
  interface: interfaceName,
  format: z.enum(["json", "jsonc", "toml", "yaml", "env"]),
  /** The variable that moves the folder, if the tool has one. */
  folderVariable: variable.nullable(),
  /** Under the home folder. */
  folder: z.string().regex(/^[\w./-]+$/),
  /** Of several names the first that is there is taken, else the last. */
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
  /** The tool is on the machine where one of these is. */
  commands: z.array(z.string()),
  folders: z.array(z.string()),
  files: z.array(settingsFile).min(1),
  /** Variables that may override the setup. */
  clear: z.array(variable),
  /** How to see that it works. */
  check: z.string(),
  /** Said after the installation. */
  afterwards: z.array(z.string()),
  limits: z.array(z.string()),
  /** Other hosts that it wants to call by itself, seen in the tests, which let nothing through to them. */
  otherHosts: z.array(z.string()),
});

/** A tool that people set up in its own window, because its settings are no file that another program can write. */
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
