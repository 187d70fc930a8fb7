const LONGEST_KEY = 500;
/** Longest upstream text that is shown or logged, in UTF-16 units. */
const MAX_TEXT = 1_000;

const SECRETS = /\b(?:Bearer\s+\S+|(?:sk|pk|rk|gsk|xai|key|org|proj|AIza)[-_][A-Za-z0-9_*.-]{6,})/g;
const ADDRESSES =
  /\bhttps?:\/\/\S+|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b(?:[a-z0-9-]+\.)+(?:com|net|org|io|ai|dev|app|cn|cloud|local|internal|svc|cluster)(?::\d+)?(?:\/\S*)?/gi;
/** Of files on the server's machine, and of resources in a cloud account. */
const PATHS =
  /(?<![\w.])\/(?:home|root|usr|opt|var|tmp|mnt|srv|etc|proc|workspace|Users)\/[^\s"'`)\],;]+|\barn:aws[\w-]*:[^\s"'`)\],;]+|\bprojects\/[\w.:-]+(?:\/[\w.:-]+)*/g;
/** `litellm.BadRequestError: `, `NotFoundError`: names of the upstream's own classes. */
const TYPE_NAMES = /\b(?:[A-Za-z_]+\.)*[A-Z][A-Za-z]*(?:Error|Exception)\b\s*[:-]?\s*/g;
// eslint-disable-next-line no-control-regex -- these are what must go
const CONTROLS = /[\u0000-\u001f\u007f]+/g;

/** An upstream's text about the request, fit for the caller: bounded, one line, no internal details (S17, S22). */
export function callerText(message: string): string {
  const text = clean(message).replaceAll(TYPE_NAMES, "").trim();
  return text === "" ? "The model server refused the request and gave no reason." : text;
}

/** The same for the log, where type names help and secrets still must not appear. */
export function logText(message: string): string {
  return clean(message);
}

function clean(message: string): string {
  // Twice the bound first: the patterns below must never scan megabytes.
  const text = cut(message, 2 * MAX_TEXT)
    .replaceAll(CONTROLS, " ")
    .replaceAll(SECRETS, "[redacted]")
    .replaceAll(ADDRESSES, "[address]")
    .replaceAll(PATHS, "[path]");
  return cut(text, MAX_TEXT).toWellFormed();
}

/** Between words: the first half of a credential cut in two would not be recognized (redactor.ts). */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const bounded = text.slice(0, most);
  const last = /[^\s"'=:;,&?()<>[\]{}]*$/.exec(bounded)?.[0] ?? "";
  // A run longer than any key is not a word.
  return last.length > LONGEST_KEY ? bounded : bounded.slice(0, most - last.length);
}
