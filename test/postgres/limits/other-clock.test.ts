import { expect, test } from "vitest";
import { createLimitTurns, type LimitUse } from "../../../ledger/leases/limit-turns.ts";
import { readOtherReplicas, reportReplica } from "../../../ledger/leases/replicas.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { withShiftedClock } from "../../support/billing/shifted-clock.ts";

const postgres = usePostgres();
const HOUR_MS = 3_600_000;

function running(count: bigint): LimitUse {
  return {
    subject: "key:AbCd5678WxYz",
    kind: "concurrent",
    periodStartMs: 0,
    limit: 5n,
    added: 0n,
    running: count,
    unused: 0n,
    most: 5n,
    last: null,
    isNew: false,
  };
}

test("requests of a process that ended before Postgres' clock was set back count no longer than those of any other", async () => {
  const { database, shift } = await withShiftedClock(await postgres.migrated());
  await shift(HOUR_MS);
  await createLimitTurns(database, "ended").take([running(5n)]);
  const other = createLimitTurns(database, "other");
  expect((await other.take([running(0n)])).grants).toMatchObject([{ grantedUse: 0n, used: 5n }]);

  await shift(0);
  await other.take([running(0n)]);
  await shift(25_000);
  expect((await other.take([running(0n)])).grants).toMatchObject([{ grantedUse: 5n, used: 0n }]);
});

test("nobody waits for an operator that ended before Postgres' clock was set back", async () => {
  const { database, shift } = await withShiftedClock(await postgres.migrated());
  const standing = { version: "1", envoys: 1, late: ["envoy"], rejected: {}, refusal: null };
  await shift(HOUR_MS);
  await reportReplica(database, "ended", standing);
  await shift(0);
  await reportReplica(database, "other", standing);
  expect(await readOtherReplicas(database, "mine")).toEqual([{ replica: "other", standing }]);
});
