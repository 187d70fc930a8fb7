import type { Queryable } from "../postgres/database.ts";
import { NOTHING } from "./changes.ts";
import { readAccountPage, readActiveKeyPage, readModels } from "./pages.ts";
import type { Change } from "./rows.ts";

/** Reads everything that is in force, page by page. */
export interface Reload {
  /** How many rows were read so far. */
  readonly accounts: number;
  readonly keys: number;
  readonly isComplete: boolean;
  /** The next page. After a failure the same page is read again. */
  readPage(database: Queryable): Promise<Change>;
}

const EVERYTHING = 0n;

/**
 * Models, then accounts, then keys: each page refers only to rows of pages before it. Deleted keys are not read, so the cost of a
 * start depends on the keys in use and not on all keys ever created.
 */
export function createReload(): Reload {
  let step: "models" | "accounts" | "keys" | "complete" = "models";
  let afterId = "";
  let accounts = 0;
  let keys = 0;

  function advance(next: string | null, nextStep: typeof step): void {
    afterId = next ?? "";
    if (next === null) step = nextStep;
  }

  return {
    get accounts() {
      return accounts;
    },
    get keys() {
      return keys;
    },
    get isComplete() {
      return step === "complete";
    },
    async readPage(database) {
      switch (step) {
        case "models": {
          const page = await readModels(database, EVERYTHING);
          step = "accounts";
          return { ...NOTHING, ...page };
        }
        case "accounts": {
          const { rows, next, ...page } = await readAccountPage(database, { afterId });
          accounts += rows;
          advance(next, "keys");
          return { ...NOTHING, ...page };
        }
        case "keys": {
          const { rows, next, ...page } = await readActiveKeyPage(database, { afterId });
          keys += rows;
          advance(next, "complete");
          return { ...NOTHING, ...page };
        }
        case "complete":
          return NOTHING;
      }
    },
  };
}
