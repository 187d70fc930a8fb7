import { settle } from "../../../ledger/settlement/settle.ts";
import { openDashboard } from "./dashboard.ts";
import { seedLedger, settlementOf } from "../billing/ledger.ts";
import type { usePostgres } from "../billing/postgres.ts";

/** A dashboard with Ann's account, a program of hers that creates projects and keys, and Bob's account. */
export async function openAccountWithProgram(postgres: ReturnType<typeof usePostgres>) {
  const { database } = await postgres.migrated();
  await seedLedger(database, "models");
  const dashboard = await openDashboard(database);
  const [ann, bob] = [await dashboard.owner("ann@example.com"), await dashboard.owner("bob@example.com")];
  const { call, get } = await dashboard.program(ann.accountId, ann.personId, "owner");
  const create = async (name: string): Promise<string> => (await call("POST", "/api/v1/projects", { name })).json().id;
  const createKey = async (projectId?: string): Promise<string> => {
    const sent = { name: "a key", ...(projectId === undefined ? {} : { project_id: projectId }) };
    return (await call("POST", "/api/v1/keys", sent)).json().id;
  };
  const spend = (keyId: string, chargeNanoUsd: bigint) =>
    settle(database, [settlementOf({ accountId: ann.accountId, keyId }, { chargeNanoUsd })]);
  return { ...dashboard, database, ann, bob, accountId: ann.accountId, call, get, create, createKey, spend };
}
