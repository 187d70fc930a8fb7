import { parse, stringify } from "yaml";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { CHART, EXTERNAL_DATABASE, NAME, NAMESPACE, RELEASE } from "./harness-render.ts";

const api = useKubeApi();
const JOB = `${NAME}-migrate`;
const inNamespace = ["--namespace", NAMESPACE];

beforeAll(() => api().kubectl(["create", "namespace", NAMESPACE]));

const install = () =>
  api().helm(["upgrade", "--install", RELEASE, CHART, ...inNamespace, "--timeout", "60s", "--values", "-"], {
    input: stringify(EXTERNAL_DATABASE),
  });

/** Says of the Job what its controller would. @param statusAt at this time, in which it begins as well. */
async function endJob(statusAt: (now: string) => object): Promise<void> {
  await eventually(() => api().kubectl(["get", "job", JOB, ...inNamespace]), { withinMs: 60_000, everyMs: 100 });
  const now = new Date().toISOString();
  const patch = JSON.stringify({ status: { startTime: now, uncountedTerminatedPods: {}, ...statusAt(now) } });
  await api().kubectl(["patch", "job", JOB, ...inNamespace, "--subresource=status", "--type=merge", "--patch", patch]);
}

const condition = (type: string) => ({
  type,
  status: "True",
  reason: "PodFailurePolicy",
  lastTransitionTime: new Date().toISOString(),
  lastProbeTime: new Date().toISOString(),
});

test("an installation whose migration failed can be repeated with the same command, and leaves nothing of the migration", async () => {
  const failing = install().then(
    () => "installed",
    (error: unknown) => String(error),
  );
  await endJob(() => ({ failed: 1, conditions: [condition("FailureTarget"), condition("Failed")] }));
  expect(await failing).toMatch(/pre-install.*job .*-migrate failed/s);
  const failed = (await api().kubectl(["get", "job", JOB, ...inNamespace, "--output", "jsonpath={.metadata.uid}"])).trim();

  const repeated = install();
  await eventually(
    async () => {
      const uid = await api().kubectl(["get", "job", JOB, ...inNamespace, "--output", "jsonpath={.metadata.uid}"]);
      expect(uid.trim()).not.toBe(failed);
    },
    { withinMs: 60_000, everyMs: 100 },
  );
  await endJob((completionTime) => ({
    succeeded: 1,
    completionTime,
    conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
  }));
  await repeated;
  expect(await api().helm(["status", RELEASE, ...inNamespace])).toContain("STATUS: deployed");
  const left = await api().kubectl(["get", "jobs,networkpolicies", ...inNamespace, "--output", "name"]);
  expect(left).not.toContain("migrat");
});

test("helm test runs in the namespace of the key's Secret", async () => {
  const values = { ...EXTERNAL_DATABASE, test: { keySecret: "my-key", namespace: "team-a" } };
  const parameters = ["template", RELEASE, CHART, ...inNamespace, "--show-only", "templates/tests/smoke.yaml", "--values", "-"];
  const pod = await api().helm(parameters, { input: stringify(values) });
  expect(parse(pod)).toMatchObject({ metadata: { namespace: "team-a" } });
  expect(pod).toContain('name: "my-key"');
  expect(pod).toContain(`value: http://${NAME}.${NAMESPACE}.svc:80`);
});
