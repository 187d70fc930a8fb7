import { expect, test } from "vitest";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import { addResourceKey, readRevokedForMs } from "../../../ledger/keys/resource-keys.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { releaseApiKey } from "../../../operator/apikey/release.ts";
import type { KubeObject } from "../../../operator/kube/object.ts";
import { eventually } from "../../support/eventually.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { resourceKey } from "../../support/billing/resource-key.ts";

/** How an ApiKey ends; test/kube/operator has a real API server. */
const postgres = usePostgres();
const ACCOUNT = "team-a";
const FINALIZER = "modelgateway.dev/revoke";
const uid = "11111111-1111-4111-8111-111111111111";

async function startWithKey(): Promise<Database> {
  const { database } = await postgres.migrated();
  await createAccount(database, { id: ACCOUNT, name: "Team A" });
  await addResourceKey(database, resourceKey({ uid, accountId: ACCOUNT }));
  return database;
}

/** One that is being deleted, and whose specification nobody can read. */
function deleted(finalizers: string[], of = uid): KubeObject {
  const metadata = { name: "client", namespace: "team-a", uid: of, resourceVersion: "5", generation: 2, finalizers };
  return { metadata: { ...metadata, deletionTimestamp: "2026-11-21T12:00:00Z" }, spec: { accounts: ["team-a"] } };
}

function server() {
  const written: unknown[] = [];
  const send = async ({ body }: { body?: { content: object } }) => void written.push(body?.content);
  return { written, client: { send } };
}

const revokedForMs = (database: Database) => readRevokedForMs(database, uid);

test("a deleted ApiKey is released when its key has been revoked for as long as every extproc needs to notice (S25)", async () => {
  const database = await startWithKey();
  const { written, client } = server();
  const release = () => releaseApiKey({ client, database, isLeader: () => true }, deleted(["example.com/other", FINALIZER]));
  const waitMs = await release();
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(1_000);
  expect(await revokedForMs(database)).toBeGreaterThan(0);
  expect(written).toEqual([]);
  await eventually(async () => expect(await release()).toBeNull());
  expect(written).toEqual([{ metadata: { uid, resourceVersion: "5", finalizers: ["example.com/other"] } }]);
  expect(await revokedForMs(database)).toBeGreaterThanOrEqual(1_000);
});

test("one that never had a key is released at once", async () => {
  const { database } = await postgres.migrated();
  const { written, client } = server();
  const object = deleted([FINALIZER], "22222222-2222-4222-8222-222222222222");
  expect(await releaseApiKey({ client, database, isLeader: () => true }, object)).toBeNull();
  expect(written.length).toBe(1);
});

test("without the operator's finalizer there is nothing to do", async () => {
  const database = await startWithKey();
  const { written, client } = server();
  expect(await releaseApiKey({ client, database, isLeader: () => true }, deleted(["example.com/other"]))).toBeNull();
  expect(await revokedForMs(database)).toBeNull();
  expect(written).toEqual([]);
});
