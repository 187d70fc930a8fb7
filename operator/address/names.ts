import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../../runtime/error-code.ts";

export interface NamesDeps {
  /** Every address of a name. @throws if there is none, or no server answers. */
  lookup(name: string): Promise<readonly string[]>;
  clock: { nowMs(): number };
}

export interface Names {
  /** The addresses of each name, as far as they are known within a few seconds; the previous ones if no server answers. */
  resolve(names: Iterable<string>): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Of the names last requested, those that a server reports as non-existent. */
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

/** Remembers only the names last requested. */
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
      // If no server answers, the known addresses still count.
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
