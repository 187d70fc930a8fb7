import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../runtime/error-code.ts";

export interface NamesDeps {
  /** Every address of a name. @throws where there is none, or nobody answers. */
  lookup(name: string): Promise<readonly string[]>;
  clock: { nowMs(): number };
}

export interface Names {
  /** What each leads to, as far as it is known within a few seconds; what a name led to last where nobody answers now. */
  resolve(names: Iterable<string>): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Of the names that were last asked for, those of which a server says that they do not exist. */
  missing(): ReadonlySet<string>;
}

const FRESH_MS = 30_000;
const WAIT_MS = 3_000;

interface Known {
  addresses: readonly string[];
  isMissing: boolean;
  askedMs: number;
  asking: Promise<void>;
}

/** Remembers the names that it was last asked for, and no others. */
export function createNames({ lookup, clock }: NamesDeps): Names {
  let known: ReadonlyMap<string, Known> = new Map();

  function ask(name: string, before: Known | undefined): Known {
    const entry: Known = {
      addresses: before?.addresses ?? [],
      isMissing: before?.isMissing ?? false,
      askedMs: clock.nowMs(),
      asking: Promise.resolve(),
    };
    entry.asking = answer(entry, name);
    return entry;
  }

  async function answer(entry: Known, name: string): Promise<void> {
    try {
      entry.addresses = await lookup(name);
      entry.isMissing = false;
    } catch (error) {
      // Where nobody answers, what is known stays what it is judged by.
      if (errorCode(error) === "ENOTFOUND") entry.isMissing = true;
    }
  }

  return {
    async resolve(names) {
      known = new Map(
        [...new Set(names)].map((name) => {
          const before = known.get(name);
          const isFresh = before !== undefined && clock.nowMs() - before.askedMs < FRESH_MS;
          return [name, isFresh ? before : ask(name, before)] as const;
        }),
      );
      const entries = [...known];
      const waiting = new AbortController();
      await Promise.race([
        Promise.all(entries.map(([, { asking }]) => asking)),
        sleep(WAIT_MS, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined),
      ]);
      waiting.abort();
      return new Map(entries.map(([name, { addresses }]) => [name, addresses]));
    },
    missing: () => new Set([...known].flatMap(([name, { isMissing }]) => (isMissing ? [name] : []))),
  };
}
