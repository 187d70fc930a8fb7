import { stringify } from "yaml";
import { NAME, NAMESPACE, render } from "../../chart/harness-render.ts";
import { installCrds } from "../../support/kube/crds.ts";
import type { KubeApi } from "../../support/kube/api.ts";

/** Where tests make their Models and ApiKeys. */
export const TEAM = "team-a";
export const OPERATOR = { namespace: NAMESPACE, name: `${NAME}-operator` };

/** The kinds that give the operator its rights. */
const ACCESS = ["ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];

/** CRDs, namespaces, and the operator's ServiceAccount with exactly the rights that the chart gives it. */
export async function installAccess(api: KubeApi, watchNamespaces: readonly string[] = [TEAM]): Promise<void> {
  await installCrds(api);
  for (const name of [NAMESPACE, ...watchNamespaces]) await api.kubectl(["create", "namespace", name]);
  await applyAccess(api, watchNamespaces);
}

/** What `helm upgrade` does about the rights: makes those that are missing. */
export async function applyAccess(api: KubeApi, watchNamespaces: readonly string[], values: object = {}): Promise<void> {
  const objects = await render(api, { postgres: { enabled: true }, watchNamespaces: [...watchNamespaces], ...values });
  const access = objects.filter(({ kind, metadata }) => ACCESS.includes(kind) && metadata.name.includes("operator"));
  // What names no namespace is of the release's.
  const namespaced = access.map((object) => ({ ...object, metadata: { namespace: NAMESPACE, ...object.metadata } }));
  await api.kubectl(["apply", "--filename", "-"], { input: namespaced.map((object) => stringify(object)).join("---\n") });
}
