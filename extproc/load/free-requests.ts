import { GatewayError } from "../../contract/errors.ts";
import { LOOKUPS, REPORTS, RETRIEVED_MEBIBYTES, type AccountLoad } from "./account-load.ts";
import { createSlot, type Slot } from "./slot.ts";

/** Free requests have their own limits: each account may make a number of them, over all of its keys. */
export interface FreeRequests {
  /** Models, balance, a token count. @throws GatewayError `rate_limited`. */
  lookUp(load: AccountLoad): void;
  /** A stored response, of up to 8 MiB. @returns a function for its size once it is read. @throws GatewayError `rate_limited`. */
  retrieve(load: AccountLoad): (bytes: number) => void;
  /** A usage report from the database. @throws GatewayError `rate_limited`; `overloaded` if others are waiting. */
  report(load: AccountLoad): Slot;
}

export type FreeRequestRefusal = "lookups" | "reports" | "reports_of_all";

export interface FreeRequestsDeps {
  /** Monotonic. */
  clock: { nowMs(): number };
  onRefused(reason: FreeRequestRefusal): void;
}

/** Of the database connections that settlements and leases need, too. */
const MAX_REPORTS = 4;
const MAX_REPORTS_OF_ACCOUNT = 2;
const MEBIBYTE = 1024 * 1024;
const COME_AGAIN = { headers: { "retry-after": "1" } };

export function createFreeRequests({ clock, onRefused }: FreeRequestsDeps): FreeRequests {
  let openReports = 0;

  function refuse(reason: FreeRequestRefusal, message: string): never {
    onRefused(reason);
    throw new GatewayError(reason === "reports_of_all" ? "overloaded" : "rate_limited", message, COME_AGAIN);
  }

  return {
    lookUp({ lookups }) {
      if (!lookups.take(clock.nowMs()))
        refuse(
          "lookups",
          `Your account requests models, its balance or token counts more than ${LOOKUPS.perSecond} times per second. Slow down.`,
        );
    },
    retrieve({ retrievals }) {
      // Its size is not known yet.
      if (!retrievals.isDue(clock.nowMs()))
        refuse(
          "lookups",
          `Your account reads stored responses faster than ${RETRIEVED_MEBIBYTES.perSecond} MiB per second. Slow down.`,
        );
      return (bytes) => retrievals.note(clock.nowMs(), bytes / MEBIBYTE);
    },
    report(load) {
      if (load.openReports >= MAX_REPORTS_OF_ACCOUNT)
        refuse(
          "reports",
          `Your account already has ${load.openReports} usage reports in progress. Try again when they are complete.`,
        );
      if (!load.reports.take(clock.nowMs()))
        refuse("reports", `Your account requests usage more than ${REPORTS.perSecond} times per second. Slow down.`);
      if (openReports >= MAX_REPORTS)
        refuse("reports_of_all", "The gateway has too many usage reports in progress. Try again in a moment.");
      openReports += 1;
      load.openReports += 1;
      return createSlot(() => {
        openReports -= 1;
        load.openReports -= 1;
      });
    },
  };
}
