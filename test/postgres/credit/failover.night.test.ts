import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { createCustomer, seedLedger } from "../../support/billing/ledger.ts";
import { startPostgresPair } from "../../support/billing/postgres-pair.ts";
import { eventually } from "../../support/eventually.ts";
import { below, pick, seeded } from "../../support/random.ts";
import { expectExactBooks } from "../../support/stacks/fleet-books.ts";
import { createFleet } from "../../support/stacks/fleet.ts";

/** Real servers: a synchronous standby that does not answer for a while, and takes over once its primary is dead. */
const SEED = Number(process.env["GATEWAY_MODEL_SEED"] ?? "1");
const STEPS = 300;
const PROCESSES = 3;
const CREDIT_NANO_USD = 50_000_000n;
/** Longer than a statement may take. */
const HANGS_MS = 12_000;

test("a failover loses, doubles and changes no charge, and overdraws nobody", { timeout: 600_000 }, async () => {
  const postgres = await startPostgresPair();
  const database = postgres.connect("test");
  const journals = await mkdtemp(path.join(tmpdir(), "gateway-failover-"));
  onTestFinished(() => rm(journals, { recursive: true, force: true }));
  const random = seeded(SEED);
  const customers = [await seedLedger(database, "a"), await createCustomer(database, "b"), await createCustomer(database, "c")];
  const credited = new Map(customers.map(({ accountId }) => [accountId, 0n]));
  const fleet = createFleet({ on: { ...postgres, database }, journals, customers, random, isAway: () => false });
  const { replicas } = fleet;

  async function topUp(): Promise<void> {
    for (const { accountId } of customers) {
      const grant = { accountId, kind: "grant", amountNanoUsd: CREDIT_NANO_USD, reference: uuidv7() } as const;
      await eventually(() => postCredit(database, grant), { withinMs: 60_000 });
      credited.set(accountId, (credited.get(accountId) ?? 0n) + CREDIT_NANO_USD);
    }
  }

  async function work(): Promise<void> {
    for (let number = 0; number < STEPS; number++) await step();
  }

  async function step(): Promise<void> {
    const replica = pick(random, [...replicas]);
    const roll = below(random, 100);
    if (roll < 40) {
      const beginning: Promise<void> = fleet.begin(replica).finally(() => replica.beginning.delete(beginning));
      replica.beginning.add(beginning);
      return;
    }
    const stream = replica.streams.size > 0 ? pick(random, [...replica.streams]) : undefined;
    if (roll < 75) return stream && fleet.produce(replica, stream);
    if (roll < 95) return stream && fleet.end(replica, stream);
    if (roll < 97) return replica.credit.keepLeases().catch(() => {});
    // Lets what is under way go on.
    await sleep(10);
  }

  async function expectSettled(): Promise<void> {
    for (const { settler } of replicas) await eventually(() => expect(settler.queued).toBe(0), { withinMs: 60_000 });
  }

  await topUp();
  for (let number = 0; number < PROCESSES; number++) await fleet.join();
  await work();

  await postgres.loseStandby();
  await work();
  await sleep(HANGS_MS);
  await work();
  expect([...replicas].some(({ settler }) => settler.queued > 0)).toBe(true);
  await postgres.regainStandby();
  await work();
  await expectSettled();

  await work();
  await postgres.killPrimary();
  await work();
  postgres.leadToStandby();
  await work();
  await postgres.promoteStandby();
  await topUp();
  await work();

  await expectSettled();
  for (const replica of replicas) await fleet.leave(replica);
  await expectExactBooks(database, { fleet, credited });
  expect(await checkLedger(database)).toEqual([]);
  for (const { accountId } of customers)
    expect((await readBalance(database, accountId)).postedNanoUsd).toBeGreaterThanOrEqual(0n);
  expect(fleet.expected.size).toBeGreaterThan(STEPS / 4);
});
