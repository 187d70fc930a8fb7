import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { listRequests, type RequestListing, type RequestPosition } from "../../../ledger/usage/request-list.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { createCustomer, PEPPER, PRICE, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { HOUR_MS } from "../../../contract/days.ts";

const postgres = usePostgres();

const NOON_MS = Date.parse("2026-11-20T12:00:00.000Z");
const OUTCOMES = ["complete", "complete", "complete", "failed", "complete", "aborted", "lost"] as const;
const WHOLE = { accountId: "acme", from: new Date("2026-11-01"), to: new Date("2026-12-01") };

/** Three days of requests: several in some hours, none in others, of two keys and three models, in no order. */
async function seed(): Promise<{ database: Database; settlements: Settlement[]; keyIds: [string, string] }> {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const other = await createCustomer(database, "other");
  const { publicId } = await createApiKey(database, { accountId: "acme", name: "second", pepper: PEPPER });
  const keyIds: [string, string] = [customer.keyId, publicId];
  const settlements = Array.from({ length: 120 }, (_, number) => {
    const startedMs = NOON_MS - 30 * HOUR_MS + ((number * 7919) % 120) * (HOUR_MS / 2);
    return settlementOf(customer, {
      requestId: uuidv7({ msecs: startedMs }),
      keyId: number % 5 === 0 ? publicId : customer.keyId,
      model: number % 11 === 0 ? "modelx-rare" : number % 2 === 0 ? "modelx-v4-pro" : "modelx-v4-flash",
      outcome: OUTCOMES[number % OUTCOMES.length] ?? "complete",
      startedAt: new Date(startedMs),
      chargeNanoUsd: BigInt(number),
    });
  });
  await settle(database, [...settlements, settlementOf(other, { requestId: uuidv7({ msecs: NOON_MS }) })]);
  return { database, settlements, keyIds };
}

async function readAll(database: Database, listing: RequestListing): Promise<string[]> {
  const ids: string[] = [];
  let after: RequestPosition | null = null;
  do {
    const page = await listRequests(database, { ...listing, ...(after === null ? {} : { after }) });
    expect(page.requests.length).toBeLessThanOrEqual(listing.limit);
    ids.push(...page.requests.map(({ requestId }) => requestId));
    after = page.next;
  } while (after !== null);
  return ids;
}

test("with any filters and page size, each request is on one page, newest first (S27)", async () => {
  const { database, settlements, keyIds } = await seed();
  const newestFirst = settlements.toSorted((a, b) => (a.requestId < b.requestId ? 1 : -1));
  const ranges = [
    { from: WHOLE.from, to: WHOLE.to },
    { from: new Date("2026-11-20T00:30:00Z"), to: new Date("2026-11-20T12:30:00Z") },
    { from: new Date("2026-11-19T23:59:59Z"), to: new Date("2026-11-20T00:00:00Z") },
  ];
  let listed = 0;
  for (const range of ranges)
    for (const keyId of [undefined, ...keyIds])
      for (const model of [undefined, "modelx-rare", "modelx-v4-pro", "modelx-none"])
        for (const outcome of [undefined, "complete", "failed", "lost", "stopped"] as const) {
          const limit = 1 + (listed++ % 7);
          const wanted = newestFirst.filter(
            (each) =>
              each.startedAt >= range.from &&
              each.startedAt < range.to &&
              (keyId === undefined || each.keyId === keyId) &&
              (model === undefined || each.model === model) &&
              (outcome === undefined || each.outcome === outcome),
          );
          const narrowed = {
            ...(keyId === undefined ? {} : { keyIds: [keyId] }),
            ...(model === undefined ? {} : { model }),
            ...(outcome === undefined ? {} : { outcome }),
          };
          const ids = await readAll(database, { accountId: "acme", ...range, ...narrowed, limit });
          expect(ids, JSON.stringify({ range, narrowed, limit })).toEqual(wanted.map(({ requestId }) => requestId));
        }
  expect(listed).toBe(180);
});

test("a page may end between two attempts of one request, and the next continues with the other", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const requestId = uuidv7({ msecs: NOON_MS });
  await settle(
    database,
    [1, 2, 3].map((attempt) => settlementOf(customer, { requestId, attempt })),
  );
  const first = await listRequests(database, { ...WHOLE, limit: 2 });
  expect(first.requests.map(({ attempt }) => attempt)).toEqual([3, 2]);
  expect(first.next).toEqual({ requestId, attempt: 2 });
  const rest = await listRequests(database, { ...WHOLE, limit: 2, after: { requestId, attempt: 2 } });
  expect(rest).toMatchObject({ requests: [{ attempt: 1 }], next: null });
});

test("a request is shown with its tokens, its price and its charge (S27)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const usage = { inputTokens: 1, cachedInputTokens: 2, cacheWriteTokens: 3, outputTokens: 4, reasoningTokens: 5 };
  const settlement = settlementOf(customer, {
    requestId: uuidv7({ msecs: NOON_MS }),
    startedAt: new Date(NOON_MS),
    usage,
    isEstimated: true,
    isStream: true,
    firstTokenMs: 80,
  });
  await settle(database, [settlement]);
  const { requests } = await listRequests(database, { ...WHOLE, limit: 1 });
  expect(requests).toEqual([
    {
      requestId: settlement.requestId,
      attempt: 1,
      keyId: customer.keyId,
      model: "modelx-v4-pro",
      interface: "chat",
      startedAt: new Date(NOON_MS),
      durationMs: 420,
      firstTokenMs: 80,
      isStream: true,
      httpStatus: 200,
      outcome: "complete",
      isEstimated: true,
      isBatch: false,
      ...usage,
      units: 0,
      unitTerms: null,
      chargeNanoUsd: 90_000n,
      price: PRICE,
      priceVersion: 1,
      providerKey: null,
      providerKeyFee: null,
    },
  ]);
});

test("an account without requests has an empty list", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  expect(await listRequests(database, { ...WHOLE, limit: 10 })).toEqual({ requests: [], next: null });
  expect(await listRequests(database, { ...WHOLE, limit: 10, outcome: "failed" })).toEqual({ requests: [], next: null });
});
