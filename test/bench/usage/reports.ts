import { readBalance } from "../../../ledger/accounts/accounts.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { usageByHour, usageByKey, usageByModelAndDay, usageTotals } from "../../../ledger/usage/reports.ts";
import { listRequests, type RequestListing } from "../../../ledger/usage/request-list.ts";
import { dayBefore, DAYS, keyOf, LARGE, LARGEST, usualAccount } from "./load.ts";

/** One thing that a page of the dashboard asks for. */
export interface Report {
  name: string;
  /** @param run counts up: another run asks for other days, and of usual accounts for another one. */
  read(database: Queryable, run: number): Promise<unknown>;
}

interface Subject {
  accountId: string;
  /** UTC, `YYYY-MM-DD`. */
  lastDay: string;
}

type Read = (database: Queryable, subject: Subject) => Promise<unknown>;

const PAGE = 50;
const EXPORT_PAGE = 1_000;
/** So many last days are asked for in turn: what one run has read is of little help to the next. */
const LAST_DAYS = 30;

/** What the pages ask, of the account with most usage, of a large one and of usual ones. */
export function reportsOf(lastDay: string): Report[] {
  const subjects: Record<string, (run: number) => string> = {
    "largest account": () => LARGEST,
    "large account": () => LARGE,
    "usual accounts": (run) => usualAccount(run),
  };
  return Object.entries(subjects).flatMap(([whose, accountOf]) =>
    Object.entries({ ...SUMS, ...LISTS, ...CREDITS }).map(([name, read]) => ({
      name: `${whose}: ${name}`,
      read: (database: Queryable, run: number) =>
        read(database, { accountId: accountOf(run), lastDay: dayBefore(lastDay, run % LAST_DAYS) }),
    })),
  );
}

const days = ({ accountId, lastDay }: Subject, count: number) => ({
  accountId,
  fromDay: dayBefore(lastDay, count - 1),
  toDay: lastDay,
});

const SUMS: Record<string, Read> = {
  totals: (database, { accountId, lastDay }) => usageTotals(database, { accountId, today: lastDay }),
  "by model and day, 30 days": (database, subject) => usageByModelAndDay(database, days(subject, 30)),
  "by model and day, all days": (database, subject) => usageByModelAndDay(database, days(subject, DAYS)),
  "one key by model and day": (database, subject) =>
    usageByModelAndDay(database, { ...days(subject, DAYS), keyId: keyOf(subject.accountId, 0) }),
  "by key, 30 days": (database, subject) => usageByKey(database, { ...days(subject, 30), limit: 50 }),
  "by key, all days": (database, subject) => usageByKey(database, { ...days(subject, DAYS), limit: 50 }),
  "by hour, 7 days": (database, { accountId, lastDay }) =>
    usageByHour(database, { accountId, from: new Date(dayBefore(lastDay, 6)), to: new Date(dayBefore(lastDay, -1)) }),
};

function list(narrow: (subject: Subject) => Partial<RequestListing>): Read {
  return (database, subject) => listRequests(database, { ...wholeListing(subject), ...narrow(subject) });
}

function wholeListing({ accountId, lastDay }: Subject): RequestListing {
  return { accountId, from: new Date(dayBefore(lastDay, DAYS)), to: new Date(dayBefore(lastDay, -1)), limit: PAGE };
}

function twoDays({ lastDay }: Subject): { from: Date; to: Date } {
  return { from: new Date(dayBefore(lastDay, 40)), to: new Date(dayBefore(lastDay, 38)) };
}

const LISTS: Record<string, Read> = {
  "requests, first page": list(() => ({})),
  "requests, two days, weeks ago": list(twoDays),
  "requests, a page in the middle": async (database, subject) => {
    const { next } = await listRequests(database, { ...wholeListing(subject), ...twoDays(subject) });
    return listRequests(database, { ...wholeListing(subject), ...(next === null ? {} : { after: next }) });
  },
  "requests, one key": list(({ accountId }) => ({ keyIds: [keyOf(accountId, 1)] })),
  "requests, the rarest model": list(() => ({ model: "modelx-reasoner" })),
  "requests, the rarest model of a key": list(({ accountId }) => ({ keyIds: [keyOf(accountId, 1)], model: "modelx-reasoner" })),
  "requests, a model that was never used": list(() => ({ model: "modelx-none" })),
  "requests, complete": list(() => ({ outcome: "complete" })),
  "requests, failed": list(() => ({ outcome: "failed" })),
  "requests, failed with one key": list(({ accountId }) => ({ outcome: "failed", keyIds: [keyOf(accountId, 1)] })),
  "requests, lost": list(() => ({ outcome: "lost" })),
  "requests, failed in 30 days": list(({ lastDay }) => ({ outcome: "failed", from: new Date(dayBefore(lastDay, 29)) })),
  "requests, 1,000 for an export": list(() => ({ limit: EXPORT_PAGE })),
};

const CREDITS: Record<string, Read> = {
  balance: (database, { accountId }) => readBalance(database, accountId),
  "credits, first page": (database, { accountId }) => listEntries(database, { accountId, limit: PAGE }),
  "credits, a later page": (database, { accountId }) => listEntries(database, { accountId, limit: PAGE, afterId: 3_000n }),
};
