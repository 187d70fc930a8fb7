import { GatewayError } from "../../contract/errors.ts";

/** Lets a bounded number of requests per account run at once; a few more wait for their turn. */
export interface Turns {
  /**
   * Resolves with a function that ends the turn, when it has come; further calls have no effect.
   * @throws GatewayError `rate_limited` if too many are waiting, or the turn did not come in time.
   */
  take(subject: string): Promise<() => void>;
}

export interface TurnBounds {
  inWork: number;
  waiting: number;
  waitMs: number;
  /** The message of a refusal. */
  refusal: string;
}

interface Line {
  inWork: number;
  waiting: (() => void)[];
}

const RETRY_AFTER_SECONDS = 2;

export function createTurns({ inWork: maxInWork, waiting: maxWaiting, waitMs, refusal }: TurnBounds): Turns {
  /** Only accounts with open requests: the map never exceeds their number. */
  const lines = new Map<string, Line>();

  function refused(): GatewayError {
    return new GatewayError("rate_limited", refusal, { headers: { "retry-after": String(RETRY_AFTER_SECONDS) } });
  }

  function ender(subject: string, line: Line): () => void {
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      const next = line.waiting.shift();
      if (next !== undefined) return next();
      line.inWork--;
      if (line.inWork === 0) lines.delete(subject);
    };
  }

  return {
    async take(subject) {
      const line = lines.get(subject) ?? { inWork: 0, waiting: [] };
      lines.set(subject, line);
      if (line.inWork < maxInWork) {
        line.inWork++;
        return ender(subject, line);
      }
      if (line.waiting.length >= maxWaiting) throw refused();
      const turn = Promise.withResolvers<void>();
      const come = () => turn.resolve();
      const timer = setTimeout(() => {
        const at = line.waiting.indexOf(come);
        if (at < 0) return;
        line.waiting.splice(at, 1);
        turn.reject(refused());
      }, waitMs);
      line.waiting.push(come);
      try {
        await turn.promise;
      } finally {
        clearTimeout(timer);
      }
      return ender(subject, line);
    },
  };
}
