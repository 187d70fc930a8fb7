import type { Queryable } from "../postgres/database.ts";
import { PAGE_ROWS, readAccountPage, readActiveKeyPage, readModels } from "./pages.ts";
import type { ChangePage } from "./changes.ts";

/** Reads everything that is in force, page by page. */
export interface Reload {
  /** How many rows were read so far. */
  readonly accounts: number;
  readonly keys: number;
  readonly isComplete: boolean;
  /** The next page. After a failure the same page is read again. */
  readPage(database: Queryable): Promise<ChangePage>;
}

const NOTHING = { accounts: [], keys: [], models: [], unreadableModels: [] };
const EVERYTHING = 0n;

/**
 * Models, then accounts, then keys: each page refers only to rows of pages before it. Deleted keys are not read, so what
 * a start costs follows from the keys in use and not from all that were ever made.
 */
export function createReload(): Reload {
  let step: "models" | "accounts" | "keys" | "complete" = "models";
  let afterId = "";
  let accounts = 0;
  let keys = 0;

  function goOn(lastId: string | undefined, rows: number, nextStep: typeof step): void {
    if (rows === PAGE_ROWS && lastId !== undefined) {
      afterId = lastId;
      return;
    }
    afterId = "";
    step = nextStep;
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
          const page = await readAccountPage(database, { afterId });
          accounts += page.length;
          goOn(page.at(-1)?.accountId, page.length, "keys");
          return { ...NOTHING, accounts: page };
        }
        case "keys": {
          const page = await readActiveKeyPage(database, { afterId });
          keys += page.length;
          goOn(page.at(-1)?.publicId, page.length, "complete");
          return { ...NOTHING, keys: page };
        }
        case "complete":
          return NOTHING;
      }
    },
  };
}
