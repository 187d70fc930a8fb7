import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createHash } from "node:crypto";

/** One request as `GET /simulator/requests` shows it. */
interface JournalEntry {
  method: string;
  path: string;
  /** Without the values of credential headers. */
  headers: IncomingHttpHeaders;
  /** Which credential headers were sent, and the beginning of their value's SHA-256: enough to distinguish them. */
  credentials: { header: string; sha256Prefix: string }[];
  bodyBytes: number;
  /** As received; of a large body only the beginning. */
  body: string;
  /** The connection ended before the answer was complete. */
  isAborted: boolean;
}

export interface Journal {
  add(request: IncomingMessage, body: Buffer): { abort(): void };
  list(): JournalEntry[];
  clear(): void;
}

const KEPT_ENTRIES = 100;
const KEPT_BODY_BYTES = 256 * 1024;
const CREDENTIAL_HEADERS = ["authorization", "x-api-key", "api-key", "cookie"] as const;

interface Kept {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  bodyBytes: number;
  body: Buffer;
  isAborted: boolean;
}

/** The last requests, kept in memory for tests. Cheap to write: everything is formatted when read. */
export function createJournal(): Journal {
  let kept: Kept[] = [];
  return {
    add(request, body) {
      const start = body.length > KEPT_BODY_BYTES ? Buffer.from(body.subarray(0, KEPT_BODY_BYTES)) : body;
      const entry: Kept = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        bodyBytes: body.length,
        body: start,
        isAborted: false,
      };
      if (kept.push(entry) > KEPT_ENTRIES) kept.shift();
      return { abort: () => void (entry.isAborted = true) };
    },
    list: () => kept.map(show),
    clear: () => void (kept = []),
  };
}

function show({ headers, body, ...rest }: Kept): JournalEntry {
  const credentials = CREDENTIAL_HEADERS.flatMap((header) => {
    const value = headers[header];
    return value === undefined
      ? []
      : [{ header, sha256Prefix: createHash("sha256").update(String(value)).digest("hex").slice(0, 8) }];
  });
  const shown = Object.entries(headers).filter(([name]) => !credentials.some(({ header }) => header === name));
  return { ...rest, headers: Object.fromEntries(shown), credentials, body: body.toString("utf8") };
}
