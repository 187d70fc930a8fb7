import process from "node:process";
import * as z from "zod";

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables and the deprecated names that are still accepted for them (docs/versioning.md). */
export type DeprecatedNames = Readonly<Record<string, string>>;

/**
 * Reads a process's settings from its environment, once, in its main.ts. A deprecated name is used if the current one is unset.
 * @throws Error with one sentence that names each invalid variable and its expected form, but never its value.
 */
export function readEnv<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Environment,
  deprecated: DeprecatedNames = {},
): z.infer<z.ZodObject<Shape>> {
  const inUse = deprecatedInUse(environment, deprecated);
  const values = inUse.map(({ name, deprecatedName }) => [name, environment[deprecatedName]]);
  const merged: Environment = { ...environment, ...Object.fromEntries(values) };
  const result = z.object(shape).safeParse(merged, { error: describe });
  if (result.success) return result.data;
  const wrong = result.error.issues.map((issue) => {
    const [variable] = issue.path;
    const name = String(variable);
    const used = inUse.find((each) => each.name === name)?.deprecatedName ?? name;
    return merged[name] === undefined ? `${used} is required` : `${used}: ${issue.message}`;
  });
  throw new Error(`Invalid environment: ${wrong.join("; ")}.`);
}

/** The same in a main.ts: ends the process with the sentence alone, because nobody needs the stack of a setting. */
export function readEnvOrExit<Shape extends z.ZodRawShape>(
  ...parameters: Parameters<typeof readEnv<Shape>>
): z.infer<z.ZodObject<Shape>> {
  return orExit(() => readEnv<Shape>(...parameters));
}

/** For settings that are checked together. */
export function orExit<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  int: "must be a whole number",
  number: "must be a number",
  url: "must be a URL",
  base64: "must be base64",
};

/** For schemas without a message of their own. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") return EXPECTED[issue.expected];
  if (issue.code === "invalid_format") return EXPECTED[issue.format];
  if (issue.code === "invalid_value") return `must be one of: ${issue.values.join(", ")}`;
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  if (issue.code !== "too_small") return undefined;
  return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
}

/** The deprecated names that have an effect, for a warning in the log. */
export function deprecatedInUse(
  environment: Environment,
  deprecated: DeprecatedNames,
): { name: string; deprecatedName: string }[] {
  return Object.entries(deprecated)
    .map(([name, deprecatedName]) => ({ name, deprecatedName }))
    .filter(({ name, deprecatedName }) => environment[name] === undefined && environment[deprecatedName] !== undefined);
}

/** A TCP port, 1–65535, written in decimal. */
export const portVariable = z.coerce.number().int().min(1).max(65535);
