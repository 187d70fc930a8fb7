import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { MONOTONIC } from "../../runtime/clock.ts";

/** Uploads that run at once. */
export interface Uploads {
  /** @throws GatewayError `rate_limited` if too many wait, or the turn did not come in time. */
  take(accountId: string): Promise<UploadTurn>;
}

/** The turn of one upload. Only the time in which it waits for its sender counts: whatever slows the gateway is not its fault. */
export interface UploadTurn {
  /** Aborted, with a GatewayError, if the sender is too slow while others wait for a turn. */
  readonly signal: AbortSignal;
  /** It waits for its sender. */
  waits(): void;
  /** So many bytes have come. */
  got(bytes: number): void;
  end(): void;
}

/** Of all accounts, in this process: each holds a mebibyte or two, and one element of up to eight. */
const MAX_UPLOADS = 8;
const MAX_WAITING_OF_ACCOUNT = 8;
const MAX_WAITING = 64;
const WAIT_MS = 30_000;
/**
 * The pace that an upload needs to keep its turn while others wait, once it has waited this long for its sender. The second is 8
 * Mbit/s, as fast as clients have to read large answers (docs/decisions/0031); senders with a slow line still finish what takes them
 * 25 s, and whoever waits gets a turn before they give up.
 */
const PACES = [
  { afterMs: 5_000, bytesPerMs: (64 * 1024) / 1000 },
  { afterMs: 25_000, bytesPerMs: (1024 * 1024) / 1000 },
] as const;
const LOOKS_EVERY_MS = 1_000;

interface Running {
  accountId: string;
  bytes: number;
  /** For which it has waited for its sender, until `sinceMs`. */
  waitedMs: number;
  /** null: it does not wait now. */
  sinceMs: number | null;
  ending: AbortController;
}

interface Waiting {
  accountId: string;
  come: (turn: UploadTurn) => void;
}

/** Of those that wait, one of the account with the fewest uploads comes next. */
export function createUploads(nowMs = MONOTONIC.nowMs): Uploads {
  const running = new Set<Running>();
  let waiting: Waiting[] = [];
  let looks: NodeJS.Timeout | undefined;

  const runningOf = (accountId: string) => [...running].filter((each) => each.accountId === accountId).length;
  const mayRun = ({ accountId }: Waiting) => runningOf(accountId) < ACCOUNT_BOUNDS.batchUploads;

  function start(accountId: string): UploadTurn {
    const upload: Running = { accountId, bytes: 0, waitedMs: 0, sinceMs: null, ending: new AbortController() };
    running.add(upload);
    return {
      signal: upload.ending.signal,
      waits: () => void (upload.sinceMs = nowMs()),
      got(bytes) {
        upload.waitedMs = waitedMs(upload);
        upload.sinceMs = null;
        upload.bytes += bytes;
      },
      end() {
        if (running.delete(upload)) startNext();
      },
    };
  }

  function waitedMs({ waitedMs: before, sinceMs }: Running): number {
    return before + (sinceMs === null ? 0 : nowMs() - sinceMs);
  }

  function startNext(): void {
    while (running.size < MAX_UPLOADS) {
      const [next] = waiting.filter(mayRun).toSorted((one, other) => runningOf(one.accountId) - runningOf(other.accountId));
      if (next === undefined) break;
      leave(next);
      next.come(start(next.accountId));
    }
  }

  function leave(one: Waiting): void {
    waiting = waiting.filter((each) => each !== one);
    if (waiting.length > 0) return;
    clearInterval(looks);
    looks = undefined;
  }

  /** The slowest uploads give their turns to those that wait. */
  function endSlow(): void {
    const isEnding = ({ ending }: Running) => ending.signal.aborted;
    const slow = [...running]
      .filter((upload) => !isEnding(upload) && isSlow(upload))
      .toSorted((one, other) => paceOf(one) - paceOf(other));
    const wanted = waiting.filter(mayRun).length - [...running].filter(isEnding).length;
    for (const { ending } of slow.slice(0, Math.max(0, wanted))) ending.abort(tooSlow());
  }

  function isSlow(upload: Running): boolean {
    return PACES.some(({ afterMs, bytesPerMs }) => waitedMs(upload) > afterMs && paceOf(upload) < bytesPerMs);
  }

  function paceOf(upload: Running): number {
    return upload.bytes / waitedMs(upload);
  }

  return {
    async take(accountId) {
      if (running.size < MAX_UPLOADS && runningOf(accountId) < ACCOUNT_BOUNDS.batchUploads) return start(accountId);
      const own = waiting.filter((each) => each.accountId === accountId).length;
      if (own >= MAX_WAITING_OF_ACCOUNT) throw refused(OWN_UPLOADS);
      if (waiting.length >= MAX_WAITING) throw refused(ALL_UPLOADS);
      const turn = Promise.withResolvers<UploadTurn>();
      const one = { accountId, come: turn.resolve };
      const timer = setTimeout(() => {
        const isOwn = !mayRun(one);
        leave(one);
        turn.reject(refused(isOwn ? OWN_UPLOADS : ALL_UPLOADS));
      }, WAIT_MS);
      waiting.push(one);
      looks ??= setInterval(endSlow, LOOKS_EVERY_MS);
      try {
        return await turn.promise;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

const OWN_UPLOADS = `This account is already uploading ${ACCOUNT_BOUNDS.batchUploads} files or batches. Wait until one is complete.`;
const ALL_UPLOADS = "Too many files and batches are being uploaded at the moment. Try again in a moment.";

function refused(message: string): GatewayError {
  return new GatewayError("rate_limited", message, { headers: { "retry-after": "2" } });
}

function tooSlow(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "The upload was slower than 1 MiB a second while others waited for their turn. Split it, or try again in a few minutes.",
    { status: 408, headers: { "retry-after": "60" } },
  );
}
