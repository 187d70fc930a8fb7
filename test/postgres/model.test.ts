import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { openJournal, type Journal } from "../../extproc/journal/journal.ts";
import { recoverJournals } from "../../extproc/journal/recovery.ts";
import { createCredit, type Credit } from "../../extproc/credit/credit.ts";
import type { Hold } from "../../extproc/credit/hold.ts";
import { readBalance } from "../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../ledger/upkeep/check.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import { startFeed, type Feed } from "../../ledger/feed/feed.ts";
import { createLeaseBank } from "../../ledger/leases/lease-bank.ts";
import { endLeasesOf } from "../../ledger/leases/leases.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { createSettler, type Settler } from "../../ledger/settlement/settler.ts";
import { createLog } from "../../runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { sizeOf } from "../support/hold-size.ts";
import { damageJournal } from "../support/journal-damage.ts";
import { createCustomer, PRICE, seedLedger, settlementOf, type Customer } from "../support/ledger.ts";
import { useOwnPostgres } from "../support/postgres.ts";

/**
 * Random interleavings of everything that moves money, against a model that only knows what was produced, and which bytes
 * of a dead process's journal the disk has spoilt. The usual
 * run takes the same steps each time; GATEWAY_MODEL_SEED makes others, GATEWAY_MODEL_STEPS more (nightly: 10,000).
 */
const STEPS = Number(process.env["GATEWAY_MODEL_STEPS"] ?? 500);
const SEED = Number(process.env["GATEWAY_MODEL_SEED"] ?? "1");
const CHECK_EVERY = 50;
const postgres = useOwnPostgres();
const never = new AbortController().signal;
const log = createLog({ process: "model test", level: "silent" });
const RULES = { ttlMs: 60_000, leastNanoUsd: 200_000n, mostNanoUsd: 2_000_000n };

interface Stream {
  customer: Customer;
  settlement: Settlement;
  hold: Hold;
  outputTokens: number;
  /** As the journal has it. */
  notedTokens: number;
}

/** How a request is listed in the end. */
interface Charge {
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

test(
  `${STEPS} random steps from seed ${SEED}: every token is charged once, nothing is overdrawn`,
  { timeout: 3_600_000 },
  async () => {
    const on = await postgres.migrated();
    const journals = await mkdtemp(path.join(tmpdir(), "gateway-model-"));
    /** Names of those that were killed. */
    const dead: string[] = [];
    onTestFinished(() => rm(journals, { recursive: true, force: true }));
    const random = createRandom(SEED);
    const customers = [
      await seedLedger(on.database, "a"),
      await createCustomer(on.database, "b"),
      await createCustomer(on.database, "c"),
    ];
    const credited = new Map(customers.map(({ accountId }) => [accountId, 0n]));
    /**
     * What each request must be charged in the end. Of several, one: a request whose end the disk has lost was settled
     * just before that, or is charged by the last record that is whole, or by none (undefined).
     */
    const expected = new Map<string, { accountId: string; charges: readonly (Charge | undefined)[] }>();
    const settled: Settlement[] = [];
    const replicas = new Set<Replica>();
    let isAway = false;
    /** Leases that were taken from processes that went on. */
    let taken = 0;
    /** What was leased when credit was taken away. */
    let takenNanoUsd = 0n;
    /** Requests of which the disk has lost the record that counts. */
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
        bank: createLeaseBank(database, holder, RULES),
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
      const recovery = isAway ? undefined : await recoverJournals({ root: journals, settler, endLeasesOf: endLeases, log });
    }

    async function begin(replica: Replica): Promise<void> {
      const customer = choose(random, customers);
      const fullNanoUsd = BigInt(random(300_000) + 1);
      const isOpen = random(3) === 0;
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

    /** Tokens come as far as the hold allows; the stream ends where it cannot be extended. */
    function produce(replica: Replica, stream: Stream): void {
      const next = stream.outputTokens + 1 + random(20);
      if (stream.hold.cover(chargeOf(next)) !== "covered") return end(replica, stream);
      stream.outputTokens = next;
      if (random(2) === 0) return;
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

    /** As SIGKILL would: memory and connections are gone, the journal's records are there, or the disk has lost some. */
    async function kill(replica: Replica, isDamaged = random(2) === 0): Promise<void> {
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
        const told = left === null ? undefined : { nanoUsd: left.chargeNanoUsd, isLost: left.outcome === "lost" };
        if (isDeepStrictEqual(told, whole)) continue;
        damaged++;
        expected.set(requestId, { ...known, charges: whole?.isLost === true ? [told] : [whole, told] });
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

    async function topUp(): Promise<void> {
      const { accountId } = choose(random, customers);
      const amountNanoUsd = BigInt(1 + random(3_000_000));
      const credit = { accountId, kind: "grant", amountNanoUsd, reference: uuidv7() } as const;
      await Promise.all([postCredit(on.database, credit), postCredit(on.database, credit)]);
      credited.set(accountId, (credited.get(accountId) ?? 0n) + amountNanoUsd);
    }

    /** What runs keeps its hold, and what is leased is given up once the feed has said so: so much may pass the balance. */
    async function takeAway(): Promise<void> {
      const { accountId } = choose(random, customers);
      const { postedNanoUsd } = await readBalance(on.database, accountId);
      if (postedNanoUsd <= 0n) return;
      const amountNanoUsd = -(BigInt(1 + random(100)) * postedNanoUsd) / 100n;
      if (amountNanoUsd === 0n) return;
      const { leasedNanoUsd } = await readBalance(on.database, accountId);
      await postCredit(on.database, { accountId, kind: "adjust", amountNanoUsd, reference: uuidv7() });
      credited.set(accountId, (credited.get(accountId) ?? 0n) + amountNanoUsd);
      takenNanoUsd += leasedNanoUsd;
    }

    async function expireLeases(): Promise<void> {
      taken += await on.database.execute("UPDATE credit_lease SET expires_at = now() - interval '1 hour' WHERE ended_at IS NULL");
      await createLeaseBank(on.database, "reaper", RULES).reap();
    }

    async function verify(): Promise<void> {
      if (isAway) await restart();
      for (const replica of replicas)
        await eventually(() => expect(replica.settler.queued).toBe(0), { withinMs: 20_000, everyMs: 5 });
      expect(await checkLedger(on.database)).toEqual([]);
      for (const { accountId } of customers)
        expect((await readBalance(on.database, accountId)).postedNanoUsd).toBeGreaterThanOrEqual(-bound());
    }

    /**
     * Nothing, as long as leases end by their holders. A lease that is taken from a process that goes on is what the account
     * may be overdrawn by: once for each. So is what was leased when credit was taken away.
     */
    function bound(): bigint {
      return BigInt(taken) * RULES.mostNanoUsd + takenNanoUsd;
    }

    async function restart(): Promise<void> {
      await (isAway ? postgres.start() : postgres.stop());
      isAway = !isAway;
    }

    /** Which records a killed process leaves depends on timing: at least one that counts is lost in every run. */
    async function loseARecord(): Promise<void> {
      for (let attempt = 0; attempt < 20; attempt++) {
        if (damaged > 0) return;
        await join();
        const replica = [...replicas].at(-1);
        if (replica === undefined) return;
        await topUp();
        await Promise.all(Array.from({ length: 5 }, () => begin(replica)));
        for (const stream of replica.streams) produce(replica, stream);
        await kill(replica, true);
      }
    }

    async function step(): Promise<void> {
      const [first] = replicas;
      if (first === undefined) return join();
      const replica = choose(random, [...replicas]);
      const roll = random(1_000);
      if (roll < 350) {
        const beginning: Promise<void> = begin(replica).finally(() => replica.beginning.delete(beginning));
        replica.beginning.add(beginning);
        return;
      }
      const stream = replica.streams.size > 0 ? choose(random, [...replica.streams]) : undefined;
      if (roll < 700) return stream && produce(replica, stream);
      if (roll < 860) return stream && end(replica, stream);
      if (roll < 900) return isAway ? undefined : topUp();
      if (roll < 915) return replica.credit.keepLeases().catch(() => {});
      if (roll < 925) return replicas.size < 4 ? join() : undefined;
      if (roll < 935) return replicas.size > 1 ? kill(replica) : undefined;
      if (roll < 940) return isAway ? undefined : leave(replica);
      if (roll < 950) return void (replica.clockMs.ahead += random(20_000));
      if (roll < 965) return isAway ? undefined : expireLeases();
      if (roll < 970) return isAway ? undefined : takeAway();
      if (roll < 985) return isAway || settled.length === 0 ? undefined : replay();
      if (roll < 990) return restart();
      // Lets what is under way go on.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }

    /** A settlement that had landed, or is on its way, comes again from elsewhere. */
    async function replay(): Promise<void> {
      await settle(on.database, [choose(random, settled)]);
    }

    await topUp();
    for (let number = 1; number <= STEPS; number++) {
      await step();
      if (number % CHECK_EVERY === 0) await verify();
    }

    // Everything stops; the last process recovers what the dead have left.
    if (isAway) await restart();
    await loseARecord();
    for (const replica of replicas) await (random(2) === 0 && replicas.size > 1 ? kill(replica) : leave(replica));
    await join();
    await verify();
    expect(damaged).toBeGreaterThan(0);
    await eventually(
      async () => {
        const rows = await rowsOf(on.database);
        expect([...rows.keys()].filter((requestId) => !expected.has(requestId))).toEqual([]);
        for (const [requestId, { accountId, charges }] of expected) {
          const row = rows.get(requestId);
          expect(charges.map((charge) => charge && { accountId, ...charge })).toContainEqual(row);
        }
      },
      { withinMs: 20_000 },
    );
    const rows = [...(await rowsOf(on.database)).values()];
    for (const { accountId } of customers) {
      const charged = rows.filter((row) => row.accountId === accountId).reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n);
      const { postedNanoUsd } = await readBalance(on.database, accountId);
      expect(postedNanoUsd).toBe((credited.get(accountId) ?? 0n) - charged);
    }
    for (const replica of replicas) await leave(replica);
    await expect.poll(() => openLeases(on.database, dead), { timeout: 20_000 }).toBe(0);
    // What a process asked for as it died may have come after it was buried: the reaper takes that back, by its time.
    await expireLeases();
    expect(await openLeases(on.database, [])).toBe(0);
    expect(await checkLedger(on.database)).toEqual([]);
  },
);

const usageOf = (outputTokens: number) => ({
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens,
  reasoningTokens: 0,
});
const chargeOf = (outputTokens: number) => chargeNanoUsd(usageOf(outputTokens), PRICE);

async function rowsOf(database: Database): Promise<Map<string, Charge & { accountId: string }>> {
  const rows = await database.query({
    text: `SELECT request_id AS "requestId", account_id AS "accountId", charge_nano_usd AS "nanoUsd", outcome = 'lost' AS "isLost" FROM usage_event`,
    row: z.strictObject({ requestId: z.string(), accountId: z.string(), nanoUsd: z.bigint(), isLost: z.boolean() }),
  });
  return new Map(rows.map(({ requestId, ...row }) => [requestId, row]));
}

async function openLeases(database: Database, butOf: readonly string[]): Promise<number> {
  return database.execute("SELECT FROM credit_lease WHERE ended_at IS NULL AND holder <> ALL($1)", [butOf]);
}

/** Whole numbers below `below`, the same for the same seed (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

function choose<Item>(random: (below: number) => number, items: readonly Item[]): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error("There is nothing to choose from.");
  return item;
}
