import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { reapLeases } from "../../../ledger/leases/leases.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { eventually } from "../../support/eventually.ts";
import { createFleet, LEASE_RULES } from "../../support/stacks/fleet.ts";
import { expectExactBooks } from "../../support/stacks/fleet-books.ts";
import { createCustomer, seedLedger } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";
import { below, pick, seeded } from "../../support/random.ts";

/**
 * Random interleavings of everything that moves money, against a model that only knows what was produced and which bytes
 * of a dead process's journal are damaged. By default every run takes the same steps; GATEWAY_MODEL_SEED makes others, and
 * GATEWAY_MODEL_STEPS more (nightly: 10,000).
 */
const STEPS = Number(process.env["GATEWAY_MODEL_STEPS"] ?? 500);
const SEED = Number(process.env["GATEWAY_MODEL_SEED"] ?? "1");
const CHECK_EVERY = 50;
const postgres = useOwnPostgres();

test(
  `${STEPS} random steps from seed ${SEED}: every token is charged once, nothing is overdrawn`,
  { timeout: 3_600_000 },
  async () => {
    const on = await postgres.migrated();
    const journals = await mkdtemp(path.join(tmpdir(), "gateway-model-"));
    onTestFinished(() => rm(journals, { recursive: true, force: true }));
    const random = seeded(SEED);
    const customers = [
      await seedLedger(on.database, "a"),
      await createCustomer(on.database, "b"),
      await createCustomer(on.database, "c"),
    ];
    const credited = new Map(customers.map(({ accountId }) => [accountId, 0n]));
    let isAway = false;
    /** Leases that were taken from processes that went on. */
    let taken = 0;
    /** What was leased when credit was taken away. */
    let takenNanoUsd = 0n;
    const fleet = createFleet({ on, journals, customers, random, isAway: () => isAway });
    const { replicas, dead, settled, join, begin, produce, end, kill, leave } = fleet;

    async function topUp(): Promise<void> {
      const { accountId } = pick(random, customers);
      const amountNanoUsd = BigInt(1 + below(random, 3_000_000));
      const credit = { accountId, kind: "grant", amountNanoUsd, reference: uuidv7() } as const;
      await Promise.all([postCredit(on.database, credit), postCredit(on.database, credit)]);
      credited.set(accountId, (credited.get(accountId) ?? 0n) + amountNanoUsd);
    }

    /** What runs keeps its hold, and what is leased is given up once the feed has said so: so much may pass the balance. */
    async function takeAway(): Promise<void> {
      const { accountId } = pick(random, customers);
      const { postedNanoUsd } = await readBalance(on.database, accountId);
      if (postedNanoUsd <= 0n) return;
      const amountNanoUsd = -(BigInt(1 + below(random, 100)) * postedNanoUsd) / 100n;
      if (amountNanoUsd === 0n) return;
      const { leasedNanoUsd } = await readBalance(on.database, accountId);
      await postCredit(on.database, { accountId, kind: "adjust", amountNanoUsd, reference: uuidv7() });
      credited.set(accountId, (credited.get(accountId) ?? 0n) + amountNanoUsd);
      takenNanoUsd += leasedNanoUsd;
    }

    async function expireLeases(): Promise<void> {
      taken += await on.database.execute("UPDATE credit_lease SET expires_at = now() - interval '1 hour' WHERE ended_at IS NULL");
      await reapLeases(on.database, { before: new Date(Date.now() - 10_000) });
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
      return BigInt(taken) * LEASE_RULES.maxNanoUsd + takenNanoUsd;
    }

    async function restart(): Promise<void> {
      await (isAway ? postgres.start() : postgres.stop());
      isAway = !isAway;
    }

    /** Which records a killed process leaves depends on timing: at least one that counts is lost in every run. */
    async function loseARecord(): Promise<void> {
      for (let attempt = 0; attempt < 20; attempt++) {
        if (fleet.damaged > 0) return;
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
      const replica = pick(random, [...replicas]);
      const roll = below(random, 1_000);
      if (roll < 350) {
        const beginning: Promise<void> = begin(replica).finally(() => replica.beginning.delete(beginning));
        replica.beginning.add(beginning);
        return;
      }
      const stream = replica.streams.size > 0 ? pick(random, [...replica.streams]) : undefined;
      if (roll < 700) return stream && produce(replica, stream);
      if (roll < 860) return stream && end(replica, stream);
      if (roll < 900) return isAway ? undefined : topUp();
      if (roll < 915) return replica.credit.keepLeases().catch(() => {});
      if (roll < 925) return replicas.size < 4 ? join() : undefined;
      if (roll < 935) return replicas.size > 1 ? kill(replica) : undefined;
      if (roll < 940) return isAway ? undefined : leave(replica);
      if (roll < 950) return void (replica.clockMs.ahead += below(random, 20_000));
      if (roll < 965) return isAway ? undefined : expireLeases();
      if (roll < 970) return isAway ? undefined : takeAway();
      if (roll < 985) return isAway || settled.length === 0 ? undefined : replay();
      if (roll < 990) return restart();
      // Lets what is under way go on.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }

    /** A settlement that had landed, or is on its way, comes again from elsewhere. */
    async function replay(): Promise<void> {
      await settle(on.database, [pick(random, settled)]);
    }

    await topUp();
    for (let number = 1; number <= STEPS; number++) {
      await step();
      if (number % CHECK_EVERY === 0) await verify();
    }

    // Everything stops; the last process recovers what the dead have left.
    if (isAway) await restart();
    await loseARecord();
    for (const replica of replicas) await (below(random, 2) === 0 && replicas.size > 1 ? kill(replica) : leave(replica));
    await join();
    await verify();
    expect(fleet.damaged).toBeGreaterThan(0);
    await expectExactBooks(on.database, { fleet, credited });
    for (const replica of replicas) await leave(replica);
    await expect.poll(() => openLeases(on.database, dead), { timeout: 20_000 }).toBe(0);
    // What a process asked for as it died may have come after it was buried: the reaper takes that back, by its time.
    await expireLeases();
    expect(await openLeases(on.database, [])).toBe(0);
    expect(await checkLedger(on.database)).toEqual([]);
  },
);

async function openLeases(database: Database, butOf: readonly string[]): Promise<number> {
  return database.execute("SELECT FROM credit_lease WHERE ended_at IS NULL AND holder <> ALL($1)", [butOf]);
}
