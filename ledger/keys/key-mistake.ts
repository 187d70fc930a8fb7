/** A value that is not a key of this service: what it looks like, and the remedy. The text contains no part of it (S18). */
export interface KeyMistake {
  /** A sentence about the received value. */
  readonly sentence: string;
  /** Whether another key is needed; otherwise the same one, sent correctly, is right. */
  readonly needsKey: boolean;
}

const KEY_LENGTH = 61;
const OWN_PREFIX = "sk-mg-";

/** Prefixes of other providers' keys, longer ones first. */
const PROVIDERS: readonly (readonly [prefix: RegExp, name: string])[] = [
  [/^sk-ant-/, "Anthropic"],
  [/^sk-or-/, "OpenRouter"],
  [/^sk-(proj|svcacct|admin|None)-/, "OpenAI"],
  [/^gsk_/, "Groq"],
  [/^AIza/, "Google"],
  [/^xai-/, "xAI"],
  [/^pplx-/, "Perplexity"],
  [/^hf_/, "Hugging Face"],
  [/^r8_/, "Replicate"],
  [/^nvapi-/, "NVIDIA"],
  [/^(AKIA|ASIA)[A-Z0-9]{12}/, "AWS"],
  [/^(gh[pousr]_|github_pat_)/, "GitHub"],
  // DeepSeek, Moonshot, older keys of OpenAI and others.
  [/^sk-(?!mg-)/, "another provider"],
];

const PLACEHOLDER = /^(\$|%\w+%|<.*>$|\{.*\}$|undefined$|null$|none$|changeme$)|your[-_ ]?(api[-_ ]?)?key|api[-_]?key[-_]?here/i;

/** Describes a credential that does not have a key's format. */
export function explainKey(credential: string): KeyMistake {
  // Each character is a header byte; people paste UTF-8.
  const text = Buffer.from(credential, "latin1").toString("utf8");
  if (/^bearer\s/i.test(text)) return again("`Bearer` appears twice before the API key. Send it once");
  if (/^["'`“‘].*|["'`”’]$/.test(text)) return again("The API key is in quotation marks. Send it without them");
  if (/[*•●…]|\.\.\.|xxxx/i.test(text))
    return other("This is the masked display form of a key. The full value is shown only once, when the key is created.");
  if (PLACEHOLDER.test(text))
    return other("This is a placeholder, not an API key. The setting that should hold the key is not set.");
  if (text.startsWith("mgmt_"))
    return other("This is a management token: it works only with the API under /api/v1. Use an API key, `sk-mg-…`, here.");
  if (/^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) return other("This is a sign-in or Kubernetes token (a JWT), not an API key.");
  const provider = PROVIDERS.find(([prefix]) => prefix.test(text))?.[1];
  if (provider !== undefined)
    return other(
      `This is an API key of ${provider === "another provider" ? provider : `another provider (${provider})`}. It does not work here.`,
    );
  return text.startsWith(OWN_PREFIX) ? explainOwn(text) : other("The API key does not have this service's form, `sk-mg-…`.");
}

function explainOwn(text: string): KeyMistake {
  // Of a header that is sent twice, Envoy makes one.
  if (/,\s*(?:bearer\s|sk-mg-)/i.test(text)) return again("The request carries an API key twice in one header. Send it once");
  if (/\s|\\[nrt]|%0a|%20/i.test(text))
    return again("The API key contains white space or a line break. Send it as one word, with nothing before or after it");
  if (text.length !== KEY_LENGTH)
    return again(`The API key has ${text.length} characters instead of ${KEY_LENGTH}. Copy all of it`);
  return again("The API key contains invalid characters. Copy it again");
}

function again(sentence: string): KeyMistake {
  return { sentence: `${sentence}.`, needsKey: false };
}

function other(sentence: string): KeyMistake {
  return { sentence, needsKey: true };
}

/** Headers in which other services expect the key. */
const FOREIGN_HEADERS = [
  "api-key",
  "x-goog-api-key",
  "openai-api-key",
  "anthropic-api-key",
  "anthropic-auth-token",
  "x-auth-token",
];

/** Names the ignored place where a key was sent; null if there is none. */
export function explainMissingKey(headers: ReadonlyMap<string, string>): string | null {
  const header = FOREIGN_HEADERS.find((name) => headers.has(name));
  if (header !== undefined) return `The header \`${header}\` is ignored.`;
  if (/[?&](api[-_]?key|key|token)=/i.test(headers.get(":path") ?? ""))
    return "A key in the URL is ignored, and logs may have recorded it: create a new one.";
  if (headers.get("authorization")?.trim()) return "Nothing follows `Bearer`: a variable with the key may be unset.";
  return null;
}
