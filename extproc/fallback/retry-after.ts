/** The wait that a server requests, in ms: seconds, milliseconds or a date. Null if it is unreadable. */
export function readRetryAfterMs(headers: ReadonlyMap<string, string>, nowMs: number): number | null {
  const exact = readNumber(headers.get("retry-after-ms"));
  if (exact !== null) return exact;
  const text = headers.get("retry-after");
  if (text === undefined) return null;
  const seconds = readNumber(text);
  if (seconds !== null) return seconds * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

function readNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}(\.\d{1,9})?$/.test(text.trim()) ? Number(text) : null;
}
