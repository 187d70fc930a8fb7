import { stringify } from "yaml";
import { expect, test } from "vitest";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { CHART, EXTERNAL_DATABASE, NAME, NAMESPACE, RELEASE } from "./harness-render.ts";

const api = useKubeApi();

/** What docs/kubernetes.md says of kubectl in the place of Helm. */
test("kubectl applies a rendered chart to the release's namespace, and an upgrade once the migration's Job is deleted", async () => {
  for (const name of [NAMESPACE, "team-a"]) await api().kubectl(["create", "namespace", name]);

  async function apply(tag: string, ...flags: readonly string[]): Promise<string> {
    const values = {
      ...EXTERNAL_DATABASE,
      image: { tag },
      watchNamespaces: ["team-a"],
      pepper: { existingSecret: "pepper" },
      internalTls: { existingSecrets: { gateway: "gateway-tls", operator: "operator-tls", dashboard: "dashboard-tls" } },
    };
    const parameters = ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--skip-tests", "--values", "-"];
    const input = await api().helm(parameters, { input: stringify(values) });
    return await api().kubectl(["apply", ...flags, "--filename", "-"], { input });
  }

  await expect(apply("1", "--namespace", NAMESPACE)).rejects.toThrow('does not match the namespace "gateway-system"');
  await apply("1");
  await expect(apply("2")).rejects.toThrow("field is immutable");
  await api().kubectl(["delete", "job", `${NAME}-migrate`, "--namespace", NAMESPACE]);
  expect(await apply("2")).toContain(`job.batch/${NAME}-migrate created`);
});
