export interface WrongBody {
  /** `messages[1].content[0].type`. */
  field: string;
  /** The first step of the field: what every refusal has to name at least. */
  root: string;
  /** The current value. */
  value: string;
  body: unknown;
}

const WRONG: readonly unknown[] = [null, true, 0, -1, 1.5, "", "wrong", [], [[]], [null], {}, { wrong: {} }];

type Step = string | number;

/** A body with every value in it, containers too, put in turn to each wrong value: one variant each. */
export function wrongTypesOf(body: object): WrongBody[] {
  return pathsOf(body).flatMap((path) =>
    WRONG.map((value) => ({
      field: nameOf(path),
      root: String(path[0]),
      value: JSON.stringify(value),
      body: replaced(body, path, value),
    })),
  );
}

/** The same body without each of its values in turn. */
export function missingFieldsOf(body: object): WrongBody[] {
  return pathsOf(body).map((path) => ({
    field: nameOf(path),
    root: String(path[0]),
    value: "nothing",
    body: replaced(body, path, undefined),
  }));
}

function pathsOf(value: unknown, above: readonly Step[] = []): Step[][] {
  if (typeof value !== "object" || value === null) return [];
  const entries: [Step, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, child]) => [[...above, step], ...pathsOf(child, [...above, step])]);
}

function replaced(value: unknown, [step, ...rest]: readonly Step[], replacement: unknown): unknown {
  if (step === undefined) return replacement;
  const child: unknown = Reflect.get(Object(value), step);
  if (Array.isArray(value)) return value.with(Number(step), replaced(child, rest, replacement));
  return { ...Object(value), [step]: replaced(child, rest, replacement) };
}

function nameOf(path: readonly Step[]): string {
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("");
}
