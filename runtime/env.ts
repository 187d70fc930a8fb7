import * as z from "zod";

/**
 * Reads a process's settings from its environment, once, in its main.ts.
 * @throws Error with one sentence that names each wrong variable and what it should be; values never appear.
 */
export function readEnv<Shape extends z.ZodRawShape>(
  shape: Shape,
  environment: Readonly<Record<string, string | undefined>>,
): z.infer<z.ZodObject<Shape>> {
  const result = z.object(shape).safeParse(environment);
  if (result.success) return result.data;
  const wrong = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`Invalid environment: ${wrong.join("; ")}.`);
}

/** A TCP port, 1–65535, written in decimal. */
export const portVariable = z.coerce.number().int().min(1).max(65535);
