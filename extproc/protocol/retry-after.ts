/** A server may name an hour, or a year: clients would wait that long although other servers can answer earlier. */
const MAX_RETRY_AFTER_MS = 600_000;

/** The days and months of HTTP dates in their three forms (RFC 9110, 5.6.7), and RFC 3339 times. */
const DATE = /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? [\w :-]{1,40}|\d{4}-\d\d-\d\dT[\w:.+-]{1,30})$/;

/**
 * The wait that a server requests, in ms, at most `MAX_RETRY_AFTER_MS`: seconds, milliseconds or a date. Null if it is unreadable.
 */
export function readRetryAfterMs(headers: ReadonlyMap<string, string>, nowMs: number): number | null {
  const waitMs = readExactMs(headers) ?? readWaitMs(headers.get("retry-after")?.trim() ?? "", nowMs);
  return waitMs === null ? null : Math.min(waitMs, MAX_RETRY_AFTER_MS);
}

/**
 * The same for the client: whole seconds, which every client reads, of at least one, and milliseconds if the server sent them.
 */
export function retryHeaders(headers: ReadonlyMap<string, string>, nowMs: number): Readonly<Record<string, string>> {
  const waitMs = readRetryAfterMs(headers, nowMs);
  if (waitMs === null) return {};
  const seconds = { "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))) };
  return readExactMs(headers) === null ? seconds : { ...seconds, "retry-after-ms": String(Math.max(1, Math.ceil(waitMs))) };
}

function readExactMs(headers: ReadonlyMap<string, string>): number | null {
  return readNumber(headers.get("retry-after-ms")?.trim() ?? "");
}

function readWaitMs(text: string, nowMs: number): number | null {
  const seconds = readNumber(text);
  if (seconds !== null) return seconds * 1000;
  // Date.parse reads "-5" and "in 5 minutes" as days of 2001.
  const dateMs = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

function readNumber(text: string): number | null {
  return /^\d{1,20}(\.\d{1,20})?$/.test(text) ? Number(text) : null;
}
