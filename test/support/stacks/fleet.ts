import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished } from "vitest";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { createCredit, type Credit } from "../../../extproc/credit/credit.ts";
import type { Hold } from "../../../extproc/credit/hold.ts";
import { openJournal, type Journal } from "../../../extproc/journal/journal.ts";
import { recoverJournals } from "../../../extproc/journal/recovery.ts";
import { startFeed, type Feed } from "../../../ledger/feed/feed.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { endLeasesOf } from "../../../ledger/leases/leases.ts";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { createSettler, type Settler } from "../../../ledger/settlement/settler.ts";
import { createLog } from "../../../runtime/log.ts";
import { eventually } from "../eventually.ts";
import { sizeOf } from "../billing/hold-size.ts";
import { damageJournal } from "../billing/journal-damage.ts";
import { PRICE, settlementOf, type Customer } from "../billing/ledger.ts";
import type { TestDatabase } from "../billing/postgres.ts";
import { below, pick, type Random } from "../random.ts";

const never = new AbortController().signal;
const log = createLog({ process: "model test", level: "silent" });
export const LEASE_RULES = { ttlMs: 60_000, minNanoUsd: 200_000n, maxNanoUsd: 2_000_000n };

interface Stream {
  customer: Customer;
  settlement: Settlement;
  hold: Hold;
  outputTokens: number;
  /** As the journal has it. */
  notedTokens: number;
}

/** How a request is listed in the end. */
export interface Charge {
  nanoUsd: bigint;
  isLost: boolean;
}

interface Replica {
  holder: string;
  database: Database;
  credit: Credit;
  settler: Settler;
  feed: Feed;
  journal: Journal;
  streams: Set<Stream>;
  /** Requests that wait for their credit. */
  beginning: Set<Promise<void>>;
  clockMs: { ahead: number };
  /** Its connections and timers are cut: what it still does reaches nobody. */
  isDead: boolean;
}

export interface Fleet {
  readonly replicas: ReadonlySet<Replica>;
  /** Holders of the replicas that were killed. */
  readonly dead: readonly string[];
  /**
   * What each request must be charged in the end. Of several, one: a request whose end the disk has lost was settled
   * just before that, or is charged by the last record that is whole, or by none (undefined).
   */
  readonly expected: ReadonlyMap<string, { accountId: string; charges: readonly (Charge | undefined)[] }>;
  readonly settled: readonly Settlement[];
  /** Requests of which the disk has lost the record that counts. */
  readonly damaged: number;
  /** Starts a replica; it recovers what the dead have left, if PostgreSQL is there. */
  join(): Promise<void>;
  begin(replica: Replica): Promise<void>;
  /** Tokens come as far as the hold allows; the stream ends if it cannot be extended. */
  produce(replica: Replica, stream: Stream): void;
  end(replica: Replica, stream: Stream): void;
  /** As SIGKILL would: memory and connections are gone, the journal's records are there, or the disk has lost some. */
  kill(replica: Replica, isDamaged?: boolean): Promise<void>;
  /** Ends all streams, and stops in order. */
  leave(replica: Replica): Promise<void>;
}

interface FleetDeps {
  on: TestDatabase;
  /** The directory of all journals. */
  journals: string;
  customers: readonly Customer[];
  random: Random;
  /** Is PostgreSQL stopped? */
  isAway(): boolean;
}

/** Extproc's books in several replicas: credit, journal, settler and feed of each, without requests or Envoy. */
export function createFleet({ on, journals, customers, random, isAway }: FleetDeps): Fleet {
  const replicas = new Set<Replica>();
  const dead: string[] = [];
  const expected = new Map<string, { accountId: string; charges: readonly (Charge | undefined)[] }>();
  const settled: Settlement[] = [];
  let damaged = 0;

  async function join(): Promise<void> {
    const holder = uuidv7();
    const database = on.connect(holder);
    const clockMs = { ahead: 0 };
    const journal = await openJournal({ root: journals, holder, onFailed: (error) => expect.fail(String(error)) });
    const settler: Settler = createSettler({
      database,
      flushMs: 3,
      onSettled: (_, batch) => {
        if (!replica.isDead) journal.committed(batch);
        recovery?.committed(batch);
      },
    });
    const credit = createCredit({
      bank: createLeaseBank(database, holder, LEASE_RULES),
      pendingNanoUsd: settler.pendingNanoUsd,
      isSettlingBehind: () => settler.isFull,
      clock: { nowMs: () => performance.now() + clockMs.ahead },
      newLeaseId: () => uuidv7(),
      topUpUrl: "https://example.test",
      onLeased: () => {},
      onLeaseFailed: () => {},
      idleMs: 50,
    });
    const feed = startFeed({ database, onChange: ({ accounts }) => credit.note(accounts) });
    onTestFinished(() => feed.stop());
    const replica: Replica = {
      holder,
      database,
      credit,
      settler,
      feed,
      journal,
      streams: new Set(),
      beginning: new Set(),
      clockMs,
      isDead: false,
    };
    replicas.add(replica);
    const endLeases = (gone: string) => endLeasesOf(database, gone);
    const recovery = isAway() ? undefined : await recoverJournals({ root: journals, settler, endLeasesOf: endLeases, log });
  }

  async function begin(replica: Replica): Promise<void> {
    const customer = pick(random, customers);
    const fullNanoUsd = BigInt(below(random, 300_000) + 1);
    const isOpen = below(random, 3) === 0;
    let hold: Hold;
    try {
      hold = await replica.credit.admit(customer, sizeOf(fullNanoUsd, fullNanoUsd / 2n, isOpen), never);
    } catch (error) {
      if (error instanceof GatewayError) return;
      throw error;
    }
    // Killed while it waited: nothing was sent.
    if (replica.isDead) return;
    const settlement = settlementOf(customer);
    replica.streams.add({ customer, settlement, hold, outputTokens: 0, notedTokens: 0 });
    const { requestId, attempt, accountId, keyId, model, upstreamProtocol, backend, priceVersionId, isStream, startedAt } =
      settlement;
    const facts = {
      requestId,
      attempt,
      accountId,
      keyId,
      model,
      upstreamProtocol,
      backend,
      priceVersionId,
      isStream,
      startedAt,
    };
    replica.journal.start({ ...facts, interface: settlement.interface, price: PRICE });
  }

  function produce(replica: Replica, stream: Stream): void {
    const next = stream.outputTokens + 1 + below(random, 20);
    if (stream.hold.cover(chargeOf(next)) !== "covered") return end(replica, stream);
    stream.outputTokens = next;
    if (below(random, 2) === 0) return;
    stream.notedTokens = next;
    const { requestId } = stream.settlement;
    replica.journal.checkpoint({ requestId, usage: usageOf(next), durationMs: 1, firstTokenMs: 1 });
  }

  function end(replica: Replica, stream: Stream): void {
    replica.streams.delete(stream);
    const charge = chargeOf(stream.outputTokens);
    const leaseId = stream.hold.settle(charge);
    const settlement = { ...stream.settlement, usage: usageOf(stream.outputTokens), chargeNanoUsd: charge, leaseId };
    promise(stream, { nanoUsd: charge, isLost: false });
    replica.journal.end(settlement);
    replica.settler.add(settlement);
    settled.push(settlement);
  }

  function promise(stream: Stream, charge: Charge): void {
    expected.set(stream.settlement.requestId, { accountId: stream.customer.accountId, charges: [charge] });
  }

  async function kill(replica: Replica, isDamaged = below(random, 2) === 0): Promise<void> {
    replica.isDead = true;
    dead.push(replica.holder);
    await replica.feed.stop();
    replicas.delete(replica);
    for (const stream of replica.streams) promise(stream, { nanoUsd: chargeOf(stream.notedTokens), isLost: true });
    await replica.database.close().catch(() => {});
    const file = path.join(journals, replica.holder, "owner.json");
    const owner = z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, "utf8")));
    await writeFile(file, JSON.stringify({ ...owner, startMark: "gone" }));
    if (isDamaged) await damage(replica);
  }

  async function damage({ holder }: Replica): Promise<void> {
    for (const [requestId, left] of await damageJournal(path.join(journals, holder), random)) {
      const known = expected.get(requestId);
      if (known === undefined) continue;
      const [whole] = known.charges;
      const booked = left === null ? undefined : { nanoUsd: left.chargeNanoUsd, isLost: left.outcome === "lost" };
      if (isDeepStrictEqual(booked, whole)) continue;
      damaged++;
      expected.set(requestId, { ...known, charges: whole?.isLost === true ? [booked] : [whole, booked] });
    }
  }

  async function leave(replica: Replica): Promise<void> {
    await Promise.all(replica.beginning);
    for (const stream of replica.streams) end(replica, stream);
    await eventually(() => expect(replica.settler.queued).toBe(0), { withinMs: 20_000, everyMs: 5 });
    replicas.delete(replica);
    await replica.feed.stop();
    await replica.credit.close();
    await replica.journal.close();
  }

  return {
    replicas,
    dead,
    expected,
    settled,
    get damaged() {
      return damaged;
    },
    join,
    begin,
    produce,
    end,
    kill,
    leave,
  };
}

const usageOf = (outputTokens: number) => ({
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens,
  reasoningTokens: 0,
});
const chargeOf = (outputTokens: number) => chargeNanoUsd(usageOf(outputTokens), PRICE);
