import { GatewayError } from "../../contract/errors.ts";

/** Lets so many requests of one account be worked on at once; a few more wait for their turn. */
export interface Turns {
  /**
   * Resolves when the turn has come, with what ends it; calling that again changes nothing.
   * @throws GatewayError `rate_limited` when too many wait already, or the turn did not come in time.
   */
  take(subject: string): Promise<() => void>;
}

export interface TurnBounds {
  inWork: number;
  waiting: number;
  waitMs: number;
  /** Said to whoever is refused. */
  refusal: string;
}

interface Line {
  inWork: number;
  waiting: (() => void)[];
}

const RETRY_AFTER_SECONDS = 2;

export function createTurns({ inWork: maxInWork, waiting: maxWaiting, waitMs, refusal }: TurnBounds): Turns {
  /** Only of those who have something in work: it grows no larger than the requests that are open. */
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
