import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { startSimulator } from "../../../local/simulator/simulator.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { copyPostgresTemplate } from "../../support/billing/postgres-template.ts";
import type { KubeApi } from "../../support/kube/api.ts";
import { startSwitchboard, type Switchboard } from "../../support/servers/switchboard.ts";
import { TEAM } from "./install.ts";
import { startOperatorProcess, type OperatorProcess } from "./operator-process.ts";
import { createTeam, type Team } from "./resources.ts";

interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

/** The product as a cluster runs it: operators under their ServiceAccount, extproc and Envoy, and a simulated model server. */
export interface Stage {
  readonly team: Team;
  readonly database: Database;
  readonly dataPlane: DataPlane;
  readonly switchboard: Switchboard;
  /** A model server's base URL, as a Model of the chat protocol names it. */
  readonly upstreamUrl: string;
  readonly operators: OperatorProcess[];
  /** @param watched the stage's namespaces, unless others are given. */
  startOperator(name: string, watched?: readonly string[]): Promise<OperatorProcess>;
  /** Stops Postgres for as long as the work takes. */
  withoutPostgres(work: () => Promise<void>): Promise<void>;
  /** Sends one chat request. */
  ask(apiKey: string, model: string): Promise<Answer>;
  stop(): Promise<void>;
}

export interface StageOptions {
  api: KubeApi;
  operators?: readonly string[];
  watch?: readonly string[];
  /** More variables of the operators. */
  operatorEnvironment?: Record<string, string>;
  /** With a database that syncs. For benches. */
  isMeasured?: boolean;
}

/** Generous: the machine may be busy. */
export const PATIENCE = { withinMs: 60_000, everyMs: 100 };

export async function startStage({
  api,
  operators: names = ["operator-0"],
  watch = [TEAM],
  operatorEnvironment = {},
  isMeasured = false,
}: StageOptions): Promise<Stage> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-kube-stage-"));
  const dataDirectory = path.join(directory, "postgres");
  if (!isMeasured) await copyPostgresTemplate(dataDirectory);
  let postgres = await startPostgres({ dataDirectory });
  const databaseUrl = postgres.url;
  const database = createDatabase({ url: databaseUrl, applicationName: "test" });
  await migrate(database);
  const pepper = randomBytes(32);
  const pepperFile = path.join(directory, "pepper");
  await writeFile(pepperFile, pepper.toString("base64"), { mode: 0o600 });
  await createAccount(database, { id: TEAM, name: "Team A" });
  await postCredit(database, { accountId: TEAM, kind: "grant", amountNanoUsd: 100_000_000_000n, reference: "test credit" });
  const simulator = await startSimulator({ port: 0 });
  const xdsSocket = path.join(directory, "switchboard.sock");
  const switchboard = await startSwitchboard(xdsSocket);
  const operators: OperatorProcess[] = [];

  async function startOperator(name: string, watched = watch): Promise<OperatorProcess> {
    const operator = await startOperatorProcess({
      api,
      name,
      databaseUrl,
      pepper,
      watch: watched,
      directory,
      more: operatorEnvironment,
    });
    operators.push(operator);
    await eventually(async () => expect(await operator.isReady(), operator.log()).toBe(true), PATIENCE);
    return operator;
  }
  for (const name of names) await startOperator(name);
  switchboard.lead(operators[0]?.xdsSocket ?? null);
  const dataPlane = await startDataPlane({ databaseUrl, xdsSocket, directory: { pepper: pepperFile } });

  return {
    team: createTeam(api),
    database,
    dataPlane,
    switchboard,
    upstreamUrl: `${simulator.url}/v1`,
    operators,
    startOperator,
    async withoutPostgres(work) {
      const { port } = postgres;
      await postgres.stop();
      try {
        await work();
      } finally {
        postgres = await startPostgres({ dataDirectory, port });
      }
    },
    async ask(apiKey, model) {
      const response = await fetch(`${dataPlane.baseUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model, messages: [{ role: "user", content: "Say hello." }], max_tokens: 16 }),
      });
      return { status: response.status, headers: response.headers, body: await response.text() };
    },
    async stop() {
      await dataPlane.stop();
      for (const operator of operators) await operator.end("SIGTERM");
      await switchboard.stop();
      await simulator.close();
      await database.close();
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
