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
  const result = z.object(shape).safeParse({ ...environment, ...Object.fromEntries(values) });
  if (result.success) return result.data;
  const wrong = result.error.issues.map((issue) => {
    const name = issue.path.join(".");
    return `${inUse.find((each) => each.name === name)?.deprecatedName ?? name}: ${issue.message}`;
  });
  throw new Error(`Invalid environment: ${wrong.join("; ")}.`);
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
