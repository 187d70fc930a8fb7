import { GatewayError } from "../../../contract/errors.ts";
import { isObject } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";

/** The names under which servers take an output limit. The gateway sends its own limit in one of them and no other. */
export const LIMIT_NAMES = [
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "max_new_tokens",
  "max_tokens_to_sample",
  "max_gen_len",
  "max_length",
  "n_predict",
  "num_predict",
] as const;

/** Names under which servers take the number of answers, of which chat completions has `n` and `best_of`. */
const FOREIGN_COUNT_NAMES = ["num_return_sequences", "num_generations", "candidate_count", "num_completions"];
const COUNT_NAMES = ["n", "best_of", ...FOREIGN_COUNT_NAMES];

/** Names under which routers take other models to answer in the place of `model`, at other prices. */
const FOREIGN_MODEL_NAMES = ["models", "fallbacks", "fallback_models"];

/** Names under which providers take what changes their price. */
const PRICE_NAMES = ["service_tier", "speed", "inference_geo"];

/** The top-level members that decide what a request costs. */
const GUARDED_NAMES = [
  "model",
  "messages",
  "input",
  "system",
  "tools",
  "stream",
  "stream_options",
  ...LIMIT_NAMES,
  ...COUNT_NAMES,
  ...FOREIGN_MODEL_NAMES,
  ...PRICE_NAMES,
];

const GUARDED = byFoldedName(GUARDED_NAMES);
const LIMITS_AND_COUNTS = byFoldedName([...LIMIT_NAMES, ...COUNT_NAMES]);
const STREAM_OPTIONS = byFoldedName(["include_usage", "continuous_usage_stats"]);

/** Objects whose members are content, a schema, or limits of thinking: nothing in them raises what a request may cost. */
const PLAIN_OBJECTS = new Set([
  "metadata",
  "reasoning",
  "thinking",
  "response_format",
  "tool_choice",
  "function_call",
  "logit_bias",
  "prediction",
  "text",
  "output_config",
  "output_format",
]);
/** Objects in which some servers and proxies look for further request fields. */
const CONTAINERS = new Set(["extrabody", "extraparams", "options", "parameters", "params", "generationconfig", "samplingparams"]);
const MOST_NESTED_CONTAINERS = 4;
/** Every duplicate of these goes on with the value that the gateway reads, whichever the server does. */
const WRITTEN_ANEW = new Set(["model", "stream"]);

/**
 * Refuses every spelling by which a model server could read a limit, a count or a prompt other than the one that the gateway
 * reads and holds credit for. Servers in Go match names without regard to case, others drop `_` or read camelCase; of duplicate
 * members some servers read the first and some the last.
 * @throws GatewayError `invalid_request` that names the field and its proper spelling.
 */
export function checkGuardedNames(body: RequestBody): void {
  const seen = new Set<string>();
  for (const { name } of body.members()) {
    const proper = GUARDED.get(foldName(name));
    if (proper === undefined) continue;
    if (name !== proper) throw refuse(name, `is read as \`${proper}\` by some model servers. Send \`${proper}\`.`);
    if (seen.has(name) && !WRITTEN_ANEW.has(name)) throw refuse(name, "is there twice. Send it once.");
    seen.add(name);
    if (FOREIGN_COUNT_NAMES.includes(name)) throw refuse(name, "is not a field of this interface. Send `n`, or leave it out.");
    if (FOREIGN_MODEL_NAMES.includes(name))
      throw refuse(name, "is not a field of this interface: the price is that of `model`. Leave it out.");
  }
  const { outline } = body;
  for (const name of Object.keys(outline)) if (!PLAIN_OBJECTS.has(name)) checkObject(outline[name], name, 0);
}

function checkObject(value: unknown, field: string, depth: number): void {
  if (!isObject(value) || depth > MOST_NESTED_CONTAINERS) return;
  for (const name of Object.keys(value)) {
    const folded = foldName(name);
    const path = `${field}.${name}`;
    if (LIMITS_AND_COUNTS.has(folded)) throw refuse(path, "is not taken there. Send it at the top level of the request.");
    if (field === "stream_options") checkSpelling(name, STREAM_OPTIONS.get(folded), path);
    if (CONTAINERS.has(folded)) checkObject(value[name], path, depth + 1);
  }
}

function checkSpelling(name: string, proper: string | undefined, field: string): void {
  if (proper !== undefined && name !== proper) throw refuse(field, `is misspelt. Send \`${proper}\`.`);
}

function byFoldedName(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [foldName(name), name]));
}

/** As the most lenient server compares names: letters and digits alone, lower case, with Unicode's look-alikes as plain letters. */
function foldName(name: string): string {
  if (/^[a-z0-9]+$/.test(name)) return name;
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
