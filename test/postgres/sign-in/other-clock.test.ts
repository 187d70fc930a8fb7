import { expect, test } from "vitest";
import * as z from "zod";
import { MINUTE_MS } from "../../../extproc/limits/period.ts";
import { removeMember } from "../../../ledger/people/members.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { withShiftedClock } from "../../support/billing/shifted-clock.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";

/** Postgres' clock is not the dashboard's: after a failover, it may be another machine's. */
const postgres = usePostgres();
const TOKEN = { name: "program", role: "viewer" };

async function open() {
  const { database, shift } = await withShiftedClock(await postgres.migrated());
  return { ...(await openDashboard(database)), database, shift };
}

test.for([
  ["behind", -45],
  ["ahead", 45],
])("with Postgres' clock %s, a sign-in is recent for half an hour, and no longer", async ([, minutes]) => {
  const { owner, shift } = await open();
  await shift(Number(minutes) * MINUTE_MS);
  const ann = await owner("ann@example.com");
  expect((await ann.post("/dashboard/tokens", TOKEN)).statusCode).toBe(200);
  await shift((Number(minutes) + 31) * MINUTE_MS);
  expect((await ann.post("/dashboard/tokens", TOKEN)).headers["location"]).toMatch(/^\/dashboard\/confirm-identity/);
  // As if it had been set back by an hour.
  await shift((Number(minutes) - 60) * MINUTE_MS);
  expect((await ann.post("/dashboard/tokens", TOKEN)).headers["location"]).toMatch(/^\/dashboard\/confirm-identity/);
});

test.for([-120, 30, 120])(
  "a removed member's playground key has expired for everybody: Postgres is %s minutes ahead",
  async (minutes) => {
    const { owner, inAccount, database, shift } = await open();
    await shift(minutes * MINUTE_MS);
    const { accountId } = await owner("ann@example.com");
    const bob = await inAccount(accountId, "member");
    const issued = z.object({ value: z.string() }).parse((await bob.post("/dashboard/playground/key")).json());
    await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.personId }));
    const [key] = await listAllKeys(database, { accountId, publicId: issued.value.slice(6, 18) });
    const expiresMs = key?.expiresAt?.getTime();
    expect(expiresMs).toBeLessThanOrEqual(Date.now());
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + minutes * MINUTE_MS);
  },
);
