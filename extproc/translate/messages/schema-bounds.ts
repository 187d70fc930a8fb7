/** Constraints that messages servers neither enforce nor accept. */
const BOUNDS: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "format",
]);

/** Values that they accept, as JSON. */
const ACCEPTED: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["minItems", new Set(["0", "1"])],
  [
    "format",
    new Set(
      ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"].map((format) =>
        JSON.stringify(format),
      ),
    ),
  ],
]);

export interface Bound {
  readonly name: string;
  /** JSON, as written. */
  readonly value: string;
}

export function isRefusedBound(name: string, value: () => string): boolean {
  if (!BOUNDS.has(name)) return false;
  return ACCEPTED.get(name)?.has(value()) !== true;
}

/** A description, as JSON, that also names these bounds. Numbers keep their digits. */
export function describeBounds(bounds: readonly Bound[], description: unknown): string {
  const constraints = `Constraints: ${bounds.map(({ name, value }) => `${name} ${value}`).join(", ")}.`;
  return JSON.stringify(typeof description === "string" && description !== "" ? `${description}\n${constraints}` : constraints);
}
