/** A served model. */
export interface ServedModel {
  name: string;
  interfaces: readonly string[];
  contextWindow: number | null;
  maxOutputTokens: number;
  /** Price of a million output tokens, to find the cheapest. */
  outputPrice: bigint;
}

/** A model in a tool's settings. */
export interface OfferedModel extends Omit<ServedModel, "outputPrice"> {
  /** The cheapest of those that several interfaces have: for titles and other small tasks. */
  isSmall: boolean;
}

/** The default of the service (S7); all others follow. */
const DEFAULT_MODEL = "modelx-v4-pro";
/** If a Model does not state it: what tools assume of most models today. */
export const ASSUMED_CONTEXT = 128_000;
/** Used in JSON, TOML, YAML and shell files, so it must need no escaping. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/;

/** The default first, the others by name. */
export function offer(models: readonly ServedModel[]): OfferedModel[] {
  const plain = models
    .filter(({ name }) => PLAIN_NAME.test(name))
    .toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
  const small = plain
    .filter(({ interfaces }) => interfaces.length > 1)
    .toSorted((one, other) => (one.outputPrice < other.outputPrice ? -1 : one.outputPrice > other.outputPrice ? 1 : 0))[0];
  // By name: the installer is public, and a caller's models may have backends.
  return plain.map(({ name, interfaces, contextWindow, maxOutputTokens }) => ({
    name,
    interfaces,
    contextWindow,
    maxOutputTokens,
    isSmall: name === small?.name,
  }));
}

function rank({ name }: ServedModel): number {
  return name === DEFAULT_MODEL ? 0 : 1;
}
