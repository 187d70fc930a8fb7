import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { END_USER } from "../../../contract/labels.ts";
import { sendBudgetAlerts } from "../../../dashboard/budgets/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { keepLabels } from "../../../ledger/labels/account-labels.ts";
import { addOwner } from "../../../ledger/people/persons.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { withShiftedClock } from "../../support/billing/shifted-clock.ts";

/** A request counts in the month in which it began, even if it is settled in the next one. */
const postgres = usePostgres();
const USD = 1_000_000_000n;
const HOUR_MS = 3_600_000;

/** The last moments of a month, in which an account has budgets of 10 USD, and the first ones of the next. */
async function open() {
  const { database, shift } = await withShiftedClock(await postgres.migrated());
  const startedMs = Date.now();
  const now = new Date(startedMs);
  const turnMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const goTo = (ms: number) => shift(ms - startedMs);
  await goTo(turnMs - HOUR_MS);
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const identity = { issuer: "https://id.example", subject: "ann" };
  await addOwner(database, { accountId, email: "ann@example.com", name: "Ann", isEmailVerified: true, identity });
  await keepLabels(database, { accountId, isOn: true });
  const set = (scope: "account" | "end_user", amountNanoUsd: bigint) =>
    setBudget(database, { accountId, personId: null }, { scope, amountNanoUsd });
  const letters: Letter[] = [];
  const { log } = captureLog();
  const send = async (letter: Letter) => void letters.push(letter);
  /** What its letters say. */
  const round = async () => {
    await sendBudgetAlerts({ database, publicBaseUrl: "http://gateway.example", log, mailer: { outbox: null, send } });
    return letters.splice(0).map(({ text }) => /[^\n]* (?:spent|reached) [^\n]*/.exec(text)?.[0]);
  };
  const spend = (chargeNanoUsd: bigint, beganMs: number) => {
    const labels = [{ dimension: END_USER, value: "customer-1" }];
    const requestId = uuidv7({ msecs: beganMs });
    return settle(database, [settlementOf(customer, { requestId, startedAt: new Date(beganMs), chargeNanoUsd, labels })]);
  };
  const monthName = (ms: number) => new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" }).format(ms);
  return { goTo, turnMs, set, round, spend, ended: monthName(turnMs - 1), begun: monthName(turnMs) };
}

test("what is settled after the end of a month alerts about that month, once", async () => {
  const { goTo, turnMs, set, round, spend, ended, begun } = await open();
  await set("account", 10n * USD);
  await set("end_user", 10n * USD);
  await spend(5n * USD, turnMs - HOUR_MS);
  expect(await round()).toEqual([
    expect.stringContaining(`spent $5.00 in ${ended} (UTC), which is at least 50%`),
    expect.stringContaining(`for each end user in ${ended} (UTC)`),
  ]);

  await goTo(turnMs + HOUR_MS);
  await spend(5n * USD, turnMs - 1_000);
  expect(await round()).toEqual([
    expect.stringContaining(`spent $10.00 in ${ended} (UTC), which is at least 100%`),
    expect.stringContaining(`for each end user in ${ended} (UTC)`),
  ]);
  await spend(6n * USD, turnMs + 1_000);
  await spend(1n * USD, turnMs - 1_000);
  expect(await round()).toEqual([expect.stringContaining(`spent $6.00 in ${begun} (UTC), which is at least 50%`)]);
  await goTo(turnMs + 3 * HOUR_MS);
  expect(await round(), "an hour after the last letter about end users").toEqual([
    expect.stringContaining(`for each end user in ${begun} (UTC)`),
  ]);
});

test("a budget that is set or lowered after the end of a month does not alert about that month", async () => {
  const { goTo, turnMs, set, round, spend, begun } = await open();
  await set("account", 100n * USD);
  await spend(20n * USD, turnMs - HOUR_MS);
  expect(await round()).toEqual([]);

  await goTo(turnMs + HOUR_MS);
  await set("account", 10n * USD);
  await set("end_user", 10n * USD);
  expect(await round()).toEqual([]);
  await spend(1n * USD, turnMs - 1_000);
  await spend(8n * USD, turnMs + 1_000);
  expect(await round()).toEqual([
    expect.stringContaining(`spent $8.00 in ${begun} (UTC), which is at least 80%`),
    expect.stringContaining(`for each end user in ${begun} (UTC)`),
  ]);
});

test("letters about end users are an hour apart, even if they are about two months", async () => {
  const { goTo, turnMs, set, round, spend, ended, begun } = await open();
  await set("end_user", 10n * USD);
  await goTo(turnMs + HOUR_MS);
  await spend(10n * USD, turnMs - 1_000);
  await spend(10n * USD, turnMs + 1_000);
  expect(await round()).toEqual([expect.stringContaining(`for each end user in ${ended} (UTC)`)]);
  expect(await round()).toEqual([]);
  await goTo(turnMs + 3 * HOUR_MS);
  expect(await round()).toEqual([expect.stringContaining(`for each end user in ${begun} (UTC)`)]);
});
