import { GatewayError } from "../../../contract/errors.ts";
import type { Interface } from "../../../contract/protocol.ts";
import { ExcessiveStructure, parseWithin, type Bounds } from "../json/bounds.ts";
import { isObject } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";

/** By name: requests repeat the same few. Names that come after it is full are folded each time. */
const FOLDED = new Map<string, string>();
const MAX_FOLDED = 1_000;
const LONGEST_NAME = 64;

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

/**
 * Names of limits and counts that are not in any list, folded: servers keep adding new ones (`max_gen_toks`, `maxTokenCount`,
 * `token_limit`, `n_cmpl`), and prefer some to `max_tokens`.
 */
const FOREIGN_LIMIT =
  /(?=.*(?:max|limit|num|^n(?!o)))(?=.*(?:tok|len|predict|decode|generat))|^max(?:out|output|new|response|answer|completion)$/;
const FOREIGN_LIMITS = new Set(
  [
    "tokens_to_generate",
    "generate_tokens",
    "output_tokens",
    "completion_tokens",
    "new_tokens",
    "output_length",
    "response_length",
  ].map(foldName),
);
const FOREIGN_COUNT =
  /^(?:n|num|number|numberof)(?:answer|choice|sample|response|candidate|output|generation|completion|sequence|variant|alternative)s?$|^(?:sample|candidate|choice|answer|response|output|completion)s?count$|^ncmpl$/;
/** Limits of something else: prompt, thinking, images, time. */
const OTHER_LIMIT =
  /prompt|context|input|think|reason|stop|special|logprob|image|pixel|soft|ngram|gram|tool|per(?:page|image|result)|ms$|seconds?$/;

/** Names under which routers accept other models to answer instead of `model`, at other prices. */
const FOREIGN_MODEL_NAMES = ["models", "fallbacks", "fallback_models"];

/** Names under which providers accept options that change their price. */
const PRICE_NAMES = ["service_tier", "speed", "inference_geo"];

/** Names under which servers accept a request for a search, or for plugins, which providers charge per use. */
export const SEARCH_NAMES = ["web_search_options", "search_parameters", "enable_search", "plugins"] as const;

/** Objects whose members proxies merge into the request that they send on, overriding its own, or servers read beside it. */
const MERGED = new Set(
  ["extra_body", "extra_args", "extra_kwargs", "litellm_params", "optional_params", "model_kwargs", "parameters"].map(foldName),
);

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
  ...SEARCH_NAMES,
];

/** Those of a request for a ranking, besides. Its limits are of texts that servers read: Cohere's, vLLM's and Jina's names. */
export const RERANK_NAMES = [
  "query",
  "documents",
  "top_n",
  "return_documents",
  "rank_fields",
  "max_tokens_per_doc",
  "max_chunks_per_doc",
  "max_tokens_per_query",
  "max_doc_length",
  "max_query_length",
];

/** Those of a request for images. */
export const IMAGE_NAMES = [
  "prompt",
  "n",
  "size",
  "quality",
  "response_format",
  "output_format",
  "output_compression",
  "background",
  "moderation",
  "style",
  "stream",
  "partial_images",
];

/** Those of a request for speech. */
export const SPEECH_NAMES = ["input", "voice", "instructions", "response_format", "stream_format", "speed", "stream"];

/** Those of a request for a transcription. */
const TRANSCRIPTION_NAMES = ["file", "response_format", "stream", "language", "prompt", "temperature"];

/** Names of the number of images, folded: servers read them beside `n`, or instead. */
const IMAGE_COUNT =
  /^(?:n|num|number|numberof)(?:image|output|picture|result|sample)s?(?:per(?:prompt|request|text))?$|^(?:image|output|picture|sample)s?per(?:prompt|request|text)$|^images?(?:count|num|number)$|^batch(?:size|count)$|^niter$|^samples$|^count$/;

const GUARDED = byFoldedName(GUARDED_NAMES);
const RERANK_GUARDED = byFoldedName([...GUARDED_NAMES, ...RERANK_NAMES]);
const IMAGE_GUARDED = byFoldedName([...GUARDED_NAMES, ...IMAGE_NAMES]);
const SPEECH_GUARDED = byFoldedName([...GUARDED_NAMES, ...SPEECH_NAMES]);
const TRANSCRIPTION_GUARDED = byFoldedName([...GUARDED_NAMES, ...TRANSCRIPTION_NAMES]);
const LIMITS_AND_COUNTS = byFoldedName([...LIMIT_NAMES, ...COUNT_NAMES]);
const STREAM_OPTIONS = byFoldedName(["include_usage", "continuous_usage_stats"]);

/** Members that hold content, a schema, or limits of thinking: nothing in them can raise a request's cost. */
const PLAIN = new Set(
  [
    "messages",
    "input",
    "system",
    "tools",
    "functions",
    "documents",
    "prompt",
    "variables",
    "metadata",
    "labels",
    "tags",
    "trace",
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
    "chat_template_kwargs",
    "mm_processor_kwargs",
  ].map(foldName),
);
/** Schemas have members such as `maxLength`. */
const SCHEMA = /schema|json|grammar/;
/** Notes that observability tools attach to a request (`litellm_metadata`). */
const NOTES = /metadata$/;
/** No server looks for a request's fields below this depth. */
const MAX_DEPTH = 8;
/** Every duplicate of these is forwarded with the value that the gateway reads, whichever one the server reads. */
const WRITTEN_ANEW = new Set(["model", "stream"]);

/**
 * Rejects every spelling by which a model server could read a limit, a count or a prompt other than the one that the gateway
 * reads and reserves credit for. Servers in Go match names case-insensitively, others drop `_` or read camelCase; of duplicate
 * members some servers read the first and some the last.
 * @throws GatewayError `invalid_request` that names the field and its proper spelling.
 */
export function checkGuardedNames(body: RequestBody, client: Interface): void {
  const guarded = guardedFor(client);
  const seen = new Set<string>();
  for (const { name } of body.members()) {
    const folded = foldName(name);
    const proper = guarded.get(folded);
    if (proper === undefined) {
      if (isForeign(folded, client)) throw refuse(name, `is not a field of this interface. ${remedy(folded, client)}`);
      continue;
    }
    if (name !== proper) throw refuse(name, `is read as \`${proper}\` by some model servers. Send \`${proper}\`.`);
    if (seen.has(name) && !WRITTEN_ANEW.has(name)) throw refuse(name, "appears twice. Send it once.");
    seen.add(name);
    // Clients write null for fields that they leave unset.
    if (body.outline[name] === null) continue;
    if (FOREIGN_COUNT_NAMES.includes(name)) throw refuse(name, "is not a field of this interface. Send `n`, or leave it out.");
    if (FOREIGN_MODEL_NAMES.includes(name))
      throw refuse(name, "is not a field of this interface: the price is that of `model`. Leave it out.");
  }
  const { outline, form } = body;
  for (const name of Object.keys(outline)) {
    const value = form === undefined ? outline[name] : readTexts(name, outline[name]);
    checkWithin(value, { name, path: name, depth: 0, guarded, client });
  }
}

/** Objects have a handful of members. */
const TEXT_BOUNDS: Bounds = { parts: 1_000, depth: 64 };

/** Some servers read JSON in the texts of a form, as they read an object in JSON. */
function readTexts(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => readTexts(name, each));
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || isPlain(name)) return value;
  try {
    return parseWithin(Buffer.from(value), TEXT_BOUNDS);
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw refuse(name, "is JSON with more values than are read. Send fewer.");
    return value;
  }
}

/**
 * Looks for fields that are not served, in every spelling that some model server accepts, and where proxies merge an object into
 * the request.
 * @param names as servers spell them.
 * @returns the first one's path, as the client wrote it; clients write null for fields that they leave unset.
 */
export function findField(body: RequestBody, names: readonly string[]): string | undefined {
  const wanted = new Set(names.map(foldName));
  const seen = new Set<string>();
  for (const { name } of body.members()) {
    const value = body.outline[name];
    // Of two values, some servers read the first.
    const isSet = value !== null || seen.has(name);
    seen.add(name);
    if (isSet && wanted.has(foldName(name))) return name;
    if (!MERGED.has(foldName(name)) || !isObject(value)) continue;
    const member = Object.keys(value).find((each) => value[each] !== null && wanted.has(foldName(each)));
    if (member !== undefined) return `${name}.${member}`;
  }
  return undefined;
}

function guardedFor(client: Interface): ReadonlyMap<string, string> {
  if (client === "rerank") return RERANK_GUARDED;
  if (client === "speech") return SPEECH_GUARDED;
  if (client === "transcription") return TRANSCRIPTION_GUARDED;
  return client === "image_generation" ? IMAGE_GUARDED : GUARDED;
}

interface Position {
  name: string;
  path: string;
  depth: number;
  guarded: ReadonlyMap<string, string>;
  client: Interface;
}

/** Servers and proxies look for further request fields in objects such as `extra_body`, `options` and `generation_config`. */
function checkWithin(value: unknown, { name, path, depth, guarded, client }: Position): void {
  if (typeof value !== "object" || value === null || depth === MAX_DEPTH || isPlain(name)) return;
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries())
      checkWithin(element, { name, path: `${path}.${index}`, depth: depth + 1, guarded, client });
    return;
  }
  for (const [member, within] of Object.entries(value)) {
    const folded = foldName(member);
    const memberPath = `${path}.${member}`;
    if (MERGED.has(foldName(name)) && guarded.has(folded))
      throw refuse(memberPath, "is not accepted there. Send it at the top level of the request.");
    // A property of a schema is described by an object.
    if (!isObject(within) && (LIMITS_AND_COUNTS.has(folded) || isForeign(folded, client)))
      throw refuse(memberPath, "is not accepted there. Send it at the top level of the request.");
    if (path === "stream_options") checkSpelling(member, STREAM_OPTIONS.get(folded), memberPath);
    checkWithin(within, { name: member, path: memberPath, depth: depth + 1, guarded, client });
  }
}

function isPlain(name: string): boolean {
  const folded = foldName(name);
  return PLAIN.has(folded) || SCHEMA.test(folded) || NOTES.test(folded);
}

function remedy(folded: string, client: Interface): string {
  const { count, limit } = REMEDIES[client];
  return FOREIGN_COUNT.test(folded) || IMAGE_COUNT.test(folded) ? count : limit;
}

const REMEDIES = {
  chat: { count: "Send `n`.", limit: "Send `max_tokens`." },
  messages: { count: "Leave it out.", limit: "Send `max_tokens`." },
  responses: { count: "Leave it out.", limit: "Send `max_output_tokens`." },
  embeddings: { count: "Leave it out.", limit: "Leave it out." },
  rerank: { count: "Leave it out.", limit: "Leave it out." },
  image_generation: { count: "Send `n`.", limit: "Leave it out." },
  speech: { count: "Leave it out.", limit: "Leave it out." },
  transcription: { count: "Leave it out.", limit: "Leave it out." },
} as const satisfies Record<Interface, { count: string; limit: string }>;

function isForeign(folded: string, client: Interface): boolean {
  if (folded.length > LONGEST_NAME) return false;
  if (client === "image_generation" && IMAGE_COUNT.test(folded)) return true;
  return FOREIGN_LIMITS.has(folded) || FOREIGN_COUNT.test(folded) || (FOREIGN_LIMIT.test(folded) && !OTHER_LIMIT.test(folded));
}

function checkSpelling(name: string, proper: string | undefined, field: string): void {
  if (proper !== undefined && name !== proper) throw refuse(field, `is misspelled. Send \`${proper}\`.`);
}

function byFoldedName(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [foldName(name), name]));
}

/**
 * Normalized as the most lenient server compares names: letters and digits alone, lower case, with Unicode look-alikes as plain
 * letters.
 */
function foldName(name: string): string {
  if (/^[a-z0-9]+$/.test(name)) return name;
  const known = FOLDED.get(name);
  if (known !== undefined) return known;
  const folded = name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");
  if (FOLDED.size < MAX_FOLDED && name.length <= LONGEST_NAME) FOLDED.set(name, folded);
  return folded;
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
