import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { trialStep } from "../chart/harness-guide.ts";
import { findHelm4 } from "../support/tools/helm-4.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { failures, startLoad, warmUp } from "./load.ts";
import {
  CHART,
  createDatabase,
  makeNamespaces,
  MODEL,
  nameDatabase,
  releaseNames,
  releaseValues,
  startServing,
  type ReleaseNames,
  type Release,
} from "./release.ts";
import { createShell } from "./shell.ts";
import { readAvailable, streamMessages } from "./streams.ts";

const cluster = useCluster();
const WITHIN = { withinMs: 60_000, everyMs: 250 };
const NAMESPACE = "gateway-trial";
const TRIAL: ReleaseNames = {
  name: "trial",
  namespace: NAMESPACE,
  fullname: "trial-model-gateway",
  modelNamespace: NAMESPACE,
  teamNamespace: NAMESPACE,
};
let helm4 = "";
let release: Release;
beforeAll(async () => {
  helm4 = await findHelm4({ environment: process.env, onProgress: (line) => console.log(line) });
});

const helmOf = (major: 3 | 4) => (major === 3 ? cluster().facts.helm : helm4);
/** What a program printed to both of its outputs, and how it ended. */
const outcomeOf = (words: readonly string[], input: string) =>
  cluster().run(["bash", "-c", '"$@" 2>&1; echo "exit code $?"', "bash", ...words], input);

test.for([3, 4] as const)("a migration failure is one sentence in the output of Helm %i", async (major) => {
  const names = releaseNames(`refused-${major}`);
  await makeNamespaces(cluster(), names);
  const url = new URL(await createDatabase(cluster(), names.name));
  url.password = "not-the-password";
  await nameDatabase(cluster(), names.namespace, url.toString());
  const helm = [helmOf(major), "upgrade", "--install", names.name, CHART, "--namespace", names.namespace, "--values", "-"];
  const printed = await outcomeOf(helm, releaseValues(names, { database: { existingSecret: "ledger-app" } }));
  // Helm 4 prints it as one of its own log lines.
  const outcome = printed.replaceAll('\\"', '"');
  expect(outcome).toContain(
    'Postgres does not accept the password in DATABASE_URL (password authentication failed for user "ledger").',
  );
  expect(outcome).toContain("exit code 1");
  expect(outcome).not.toContain("not-the-password");
  expect(outcome).not.toMatch(/^\s+at /m);
});

test("the guide's two commands install a trial with Helm 4, which serves and charges", async () => {
  const shell = await createShell(cluster(), {
    helm: helm4,
    // The definitions are the guide's release's.
    values: { operator: {}, crds: { enabled: false }, postgres: { resources: { requests: { cpu: "50m", memory: "128Mi" } } } },
  });
  const [namespace = "", ...install] = (await trialStep()).split("\n");
  await shell.run(namespace);
  const labels = ["pod-security.kubernetes.io/enforce=restricted", "modelgateway.dev/account=team"];
  await cluster().kubectl(["label", "namespace", NAMESPACE, ...labels]);
  await shell.run(install.join("\n"));
  release = await startServing(cluster(), TRIAL);
  const before = await readAvailable(release.url, release.key);
  const answer = await streamMessages({ ...release, model: MODEL, prompt: "Say hello. [[sim tokens=20]]" });
  expect(answer).toMatchObject({ status: 200, isWhole: true });
  await eventually(async () => expect(await readAvailable(release.url, release.key)).toBeLessThan(before), WITHIN);
});

test("requests are served while the trial's Postgres is deleted, and it returns with its data", async () => {
  const client = { url: release.url, key: release.key, model: MODEL };
  await warmUp(client);
  // A process that served nobody for ten seconds returns its credit: connections to all are used in turn.
  const load = startLoad({ ...client, perSecond: 5, connections: 16 });
  await release.kubectl(["delete", "pod", `${TRIAL.fullname}-postgres-0`]);
  const ready = ["wait", `pod/${TRIAL.fullname}-postgres-0`, "--for=condition=Ready", "--timeout=120s"];
  await eventually(() => release.kubectl(ready), WITHIN);
  await sleep(2_000);
  expect(failures(await load.stop())).toStrictEqual([]);
  const check = ["exec", `deployment/${TRIAL.fullname}-operator`, "--", "node", "dist/ledger-check-command.mjs"];
  await eventually(async () => expect(await release.kubectl(check)).toContain("The ledger adds up."), WITHIN);
  await eventually(() => readAvailable(release.url, release.key), WITHIN);
});

test("Helm 4 upgrades, tests and uninstalls a release, and leaves what must remain", async () => {
  const where = ["--namespace", NAMESPACE];
  const helm = (words: readonly string[]) => cluster().run([helm4, ...words, ...where]);
  const settings = ["--reset-then-reuse-values", "--set", "test.keySecret=my-key", "--set", "logLevel=debug"];
  await helm(["upgrade", TRIAL.name, CHART, ...settings, "--wait", "--timeout", "4m"]);
  expect(await helm(["test", TRIAL.name])).toMatch(/Phase:\s+Succeeded/);
  await helm(["uninstall", TRIAL.name, "--wait", "--timeout", "3m"]);
  const list = async (kinds: string) =>
    (await cluster().kubectl(["get", kinds, ...where, "--output", "name"])).trim().split("\n");
  // It does not wait for pods, which drain first.
  await eventually(async () => expect(await list("all")).toStrictEqual([""]), WITHIN);
  expect(await list("models,apikeys,secrets,pvc")).toEqual(
    expect.arrayContaining([
      "model.modelgateway.dev/modelx-v4-pro",
      "apikey.modelgateway.dev/my-key",
      "secret/my-key",
      `secret/${TRIAL.fullname}-key-pepper`,
      `secret/${TRIAL.fullname}-postgres`,
      `persistentvolumeclaim/data-${TRIAL.fullname}-postgres-0`,
    ]),
  );
});
