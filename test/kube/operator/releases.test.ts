import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { eventually } from "../../support/eventually.ts";
import { copyPostgresTemplate } from "../../support/billing/postgres-template.ts";
import { OPERATOR } from "./install.ts";
import { startOperatorProcess, type OperatorProcess } from "./operator-process.ts";
import { apiKey, model } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStage } from "./use-stage.ts";

/** Two releases, each with a ledger of its own, that watch one namespace. */
const SECOND = "second-operator";
const { stage, api } = useStage("operator-0");
const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);
const MANAGED = {
  status: "True",
  reason: "Managed",
  message: `by the operator with the Lease ${OPERATOR.namespace}/${OPERATOR.name}`,
};
let directory = "";
let postgres: Postgres;
let second: OperatorProcess;
let key = "";

beforeAll(async () => {
  const { team, upstreamUrl } = stage();
  await team.apply(apiKey("shared"), model("shared", { url: upstreamUrl }));
  await until(async () => expect((await team.conditions("model", "shared"))["Managed"]).toMatchObject(MANAGED));
  key = await until(async () => (await team.value("shared")) ?? "");
  const inRelease = ["--namespace", OPERATOR.namespace];
  const rights = [
    "create",
    "role",
    SECOND,
    "--verb=get,update",
    "--resource=leases.coordination.k8s.io",
    `--resource-name=${SECOND}`,
  ];
  await api().kubectl([...rights, ...inRelease]);
  const account = `--serviceaccount=${OPERATOR.namespace}:${OPERATOR.name}`;
  await api().kubectl(["create", "rolebinding", SECOND, `--role=${SECOND}`, account, ...inRelease]);
  directory = await mkdtemp(path.join(tmpdir(), "gateway-second-release-"));
  const dataDirectory = path.join(directory, "postgres");
  await copyPostgresTemplate(dataDirectory);
  postgres = await startPostgres({ dataDirectory });
  const database = createDatabase({ url: postgres.url, applicationName: "test" });
  await migrate(database);
  await database.close();
  second = await startOperatorProcess({
    api: api(),
    name: "second-0",
    databaseUrl: postgres.url,
    pepper: randomBytes(32),
    leaseName: SECOND,
    directory,
  });
  await until(async () => expect(await second.isLeader(), second.log()).toBe(true));
});

afterAll(async () => {
  await second.end("SIGTERM");
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
});

const writesOf = async (name: string) => [await stage().team.writes("apikey", name), await stage().team.writes("model", name)];

test("the first one manages the resources and reports that; the other ignores them and reports it once", async () => {
  const { team } = stage();
  const events = async () => (await team.events("shared")).filter((event) => event === "Warning ManagedElsewhere");
  await until(async () => expect(await events()).toHaveLength(2));
  expect((await team.conditions("apikey", "shared"))["Managed"]).toMatchObject(MANAGED);
  await until(async () =>
    expect((await team.conditions("apikey", "shared"))["Ready"]).toMatchObject({ status: "True", reason: "Active" }),
  );
  const before = await writesOf("shared");
  await sleep(5_000);
  expect(await writesOf("shared")).toEqual(before);
  expect((await stage().ask(key, "shared")).status).toBe(200);
});

test("a new resource is managed by one release only, whichever is faster, and settles", async () => {
  const { team, upstreamUrl } = stage();
  await team.apply(apiKey("contested"), model("contested", { url: upstreamUrl }));
  const events = async () => (await team.events("contested")).filter((event) => event === "Warning ManagedElsewhere");
  await until(async () => expect(await events()).toHaveLength(2));
  await until(async () => {
    const before = await writesOf("contested");
    await sleep(3_000);
    expect(await writesOf("contested")).toEqual(before);
  });
});

test("the other one never drops the finalizer: the key is revoked by the release that created it", async () => {
  const { team, operators, startOperator, switchboard } = stage();
  for (const operator of operators) await operator.end("SIGTERM");
  await team.run(["delete", "apikey", "shared", "--wait=false"]);
  await sleep(5_000);
  expect((await team.get("apikey", "shared")).metadata.finalizers).toEqual(["modelgateway.dev/revoke"]);
  const next = await startOperator("operator-1");
  switchboard.lead(next.xdsSocket);
  await until(async () => await expect(team.get("apikey", "shared")).rejects.toThrow("not found"));
  expect((await stage().ask(key, "shared")).status).toBe(401);
});

test("when a release and its Lease are gone, the other one takes over", async () => {
  const { team, operators } = stage();
  for (const operator of operators) await operator.end("SIGTERM");
  await api().kubectl(["delete", "lease", OPERATOR.name, "--namespace", OPERATOR.namespace]);
  const message = `by the operator with the Lease ${OPERATOR.namespace}/${SECOND}`;
  await until(async () => {
    // It looks again every few minutes, and at each change.
    await team.patch("model", "shared", { spec: { pricing: { inputPerMillion: String(Date.now() % 1_000) } } });
    expect((await team.conditions("model", "shared"))["Managed"]).toMatchObject({ ...MANAGED, message });
  });
});
