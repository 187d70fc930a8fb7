import { expect, test } from "vitest";
import { readOtherReplicas, removeReplica, reportReplica, type ReplicaStanding } from "../../../ledger/leases/replicas.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const standing = (version: string): ReplicaStanding => ({
  version,
  envoys: 2,
  late: ["envoy-7"],
  rejected: { "model/m/a/1": "words" },
  refusal: null,
});

test("a replica reads what the others reported last, and not its own report", async () => {
  const { database } = await postgres.migrated();
  await reportReplica(database, "a", standing("v1"));
  await reportReplica(database, "b", standing("v1"));
  await reportReplica(database, "b", standing("v2"));
  expect(await readOtherReplicas(database, "a")).toEqual([{ replica: "b", standing: standing("v2") }]);
  await removeReplica(database, "b");
  expect(await readOtherReplicas(database, "a")).toEqual([]);
});

test("a replica that has been silent for a while is not waited for, and is forgotten eventually", async () => {
  const { database } = await postgres.migrated();
  await reportReplica(database, "gone", standing("v1"));
  await database.execute("UPDATE operator_replica SET seen_at = now() - interval '16 seconds'");
  expect(await readOtherReplicas(database, "a")).toEqual([]);
  await database.execute("UPDATE operator_replica SET seen_at = now() - interval '2 hours'");
  await reportReplica(database, "a", standing("v1"));
  expect(await database.execute("SELECT FROM operator_replica")).toBe(1);
});
