/** A model, as it is served. */
export interface ServedModel {
  name: string;
  interfaces: readonly string[];
  contextWindow: number | null;
  maxOutputTokens: number;
  /** What a million tokens of output cost, to find the cheapest. */
  outputPrice: bigint;
}

/** A model, as tools are set up for it. */
export interface OfferedModel extends Omit<ServedModel, "outputPrice"> {
  /** The cheapest of those that several interfaces have: for titles and other small things. */
  isSmall: boolean;
}

/** The default of the service (S7); any other comes after it. */
const DEFAULT_MODEL = "modelx-v4-pro";
/** Where a Model does not say: what tools assume of most models today. */
export const ASSUMED_CONTEXT = 128_000;
/** Goes into JSON, TOML, YAML and shell files, and must be itself in each. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/;

/** The default first, the others by name. */
export function offer(models: readonly ServedModel[]): OfferedModel[] {
  const plain = models
    .filter(({ name }) => PLAIN_NAME.test(name))
    .toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
  const small = plain
    .filter(({ interfaces }) => interfaces.length > 1)
    .toSorted((one, other) => (one.outputPrice < other.outputPrice ? -1 : one.outputPrice > other.outputPrice ? 1 : 0))[0];
  return plain.map(({ outputPrice: _price, ...model }) => ({ ...model, isSmall: model.name === small?.name }));
}

function rank({ name }: ServedModel): number {
  return name === DEFAULT_MODEL ? 0 : 1;
}
