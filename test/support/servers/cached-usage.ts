/** What simulated servers of clouds report, as Anthropic's protocol has it: three kinds of input tokens, and output tokens. */
export const REPORTED_USAGE = {
  input_tokens: 20,
  cache_read_input_tokens: 700,
  cache_creation_input_tokens: 50,
  output_tokens: 12,
};

/** Of a Model in front of them: a price for each kind. */
export const CACHED_PRICING = {
  inputPerMillion: "3.00",
  cachedInputPerMillion: "0.30",
  cacheWritePerMillion: "3.75",
  outputPerMillion: "15.00",
};

/** The charge of the usage: 20 × 3,000 + 700 × 300 + 50 × 3,750 + 12 × 15,000. */
export const CACHED_CHARGE_NANO_USD = 637_500n;
