import path from "node:path";
import { stringify } from "yaml";
import { beforeAll, describe, expect, test } from "vitest";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { NAME, NAMESPACE, RELEASE, CHART } from "./harness-render.ts";

const api = useKubeApi();
const OPERATOR = `system:serviceaccount:${NAMESPACE}:${NAME}-operator`;

beforeAll(async () => {
  for (const name of [NAMESPACE, "team-a", "team-b", "elsewhere"]) await api().kubectl(["create", "namespace", name]);
  await api().kubectl(["label", "namespace", "team-a", "modelgateway.dev/account=team-a"]);
  await install({ watchNamespaces: ["team-a", "team-b"] });
  await untilEstablished(api());
});

async function install(values: object): Promise<void> {
  const parameters = ["upgrade", "--install", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-"];
  await api().helm(parameters, { input: stringify({ postgres: { enabled: true }, ...values }) });
}

/** What the operator may do in a namespace beyond what anybody who is signed in may. */
async function rightsIn(namespace: string): Promise<string[]> {
  const list = async (user: string[]) => {
    const table = await api().kubectl(["auth", "can-i", "--list", "--no-headers", "--namespace", namespace, ...user]);
    return table.split("\n").map((row) => row.trim().replaceAll(/ {2,}/g, " "));
  };
  const anybody = new Set(await list(["--as", "nobody", "--as-group", "system:authenticated"]));
  const group = ["--as-group", "system:serviceaccounts", "--as-group", "system:authenticated"];
  return (await list(["--as", OPERATOR, ...group])).filter((row) => !anybody.has(row) && !row.includes("/.well-known")).sort();
}

describe("the operator's rights", () => {
  test("cover Models and ApiKeys everywhere, and Secrets and Events only in the watched namespaces", async () => {
    const everywhere = [
      "apikeys.modelgateway.dev [] [] [get list watch patch]",
      "apikeys.modelgateway.dev/finalizers [] [] [update]",
      "apikeys.modelgateway.dev/status [] [] [patch]",
      "leases.coordination.k8s.io [] [] [get]",
      "models.modelgateway.dev [] [] [get list watch]",
      "models.modelgateway.dev/status [] [] [patch]",
    ];
    const watched = [...everywhere, "events.events.k8s.io [] [] [create patch]", "secrets [] [] [get create patch]"].sort();
    const certificates = ["dashboard", "gateway", "operator"].map((part) => `${NAME}-internal-tls-${part}`);
    const own = [
      ...everywhere.filter((row) => !row.startsWith("leases")),
      "leases.coordination.k8s.io [] [] [get create]",
      `leases.coordination.k8s.io [] [${NAME}-operator] [get update]`,
      `secrets [] [${NAME}-internal-ca] [get]`,
      ...certificates.map((name) => `secrets [] [${name}] [get patch]`),
    ].sort();
    const found = await Promise.all(["team-a", "team-b", NAMESPACE, "elsewhere"].map(rightsIn));
    expect(found.map((rows) => rows.filter((row) => !row.startsWith("[/openid")))).toEqual([watched, watched, own, everywhere]);
  });

  test.for([
    ["list", "secrets"],
    ["watch", "secrets"],
    ["delete", "secrets"],
    ["create", "pods"],
    ["delete", "apikeys.modelgateway.dev"],
    ["update", "models.modelgateway.dev"],
    ["escalate", "roles.rbac.authorization.k8s.io"],
  ] as const)("do not include to %s %s", async ([verb, resource]) => {
    const asking = api().kubectl(["auth", "can-i", verb, resource, "--namespace", "team-a", "--as", OPERATOR]);
    // The answer "no" is on standard output, and an exit code.
    await expect(asking).rejects.toThrow("kubectl ended without a word");
  });
});

describe("an ApiKey's account", () => {
  async function create(namespace: string, account: string): Promise<string> {
    const key = {
      apiVersion: "modelgateway.dev/v1alpha1",
      kind: "ApiKey",
      metadata: { name: "k", namespace },
      spec: { account },
    };
    return api().kubectl(["create", "--dry-run=server", "--filename", "-"], { input: stringify(key) });
  }

  test("is that of its namespace", async () => {
    expect(await create("team-a", "team-a")).toContain("created");
  });

  test("is not another's", async () => {
    await expect(create("team-a", "team-b")).rejects.toThrow(
      "this namespace belongs to the account team-a: its ApiKeys cannot be of team-b",
    );
  });

  test("is rejected if the namespace has no label, and the message has the remedy", async () => {
    await expect(create("team-b", "team-b")).rejects.toThrow("kubectl label namespace team-b modelgateway.dev/account=team-b");
  });

  test("does not prevent changes or deletion of a key after the namespace lost its label", async () => {
    const file = {
      apiVersion: "modelgateway.dev/v1alpha1",
      kind: "ApiKey",
      metadata: { name: "old" },
      spec: { account: "team-a" },
    };
    await api().kubectl(["create", "--namespace", "team-a", "--filename", "-"], { input: stringify(file) });
    await api().kubectl(["label", "namespace", "team-a", "modelgateway.dev/account-"]);
    await api().kubectl([
      "patch",
      "apikey",
      "old",
      "--namespace",
      "team-a",
      "--type=merge",
      "--patch",
      '{"spec":{"disabled":true}}',
    ]);
    await api().kubectl(["delete", "apikey", "old", "--namespace", "team-a"]);
    await api().kubectl(["label", "namespace", "team-a", "modelgateway.dev/account=team-a"]);
  });
});

describe("kubectl warns, and continues,", () => {
  /** kubectl's words when it is asked to take a warning for an error. */
  async function warning(namespace: string, resource: object): Promise<string> {
    const document = { apiVersion: "modelgateway.dev/v1alpha1", metadata: { name: "tried", namespace }, ...resource };
    const input = stringify(document);
    await api().kubectl(["create", "--dry-run=server", "--filename", "-"], { input });
    return await api()
      .kubectl(["create", "--dry-run=server", "--warnings-as-errors", "--filename", "-"], { input })
      .then(
        () => "nothing",
        (error: unknown) => String(error),
      );
  }

  const model = (url: string, protocol = "ChatCompletions") => ({
    kind: "Model",
    spec: {
      modelName: "tried",
      pricing: { inputPerMillion: "1", outputPerMillion: "2" },
      backends: [{ name: "primary", protocol, url }],
    },
  });

  test("of a Model in a namespace that the release does not watch", async () => {
    expect(await warning("elsewhere", model("https://models.example/v1"))).toContain(
      `nothing happens to this Model unless another release watches its namespace: release ${RELEASE} in ${NAMESPACE} watches team-a, team-b, not elsewhere`,
    );
  });

  test("of a chat URL without a path", async () => {
    expect(await warning("team-a", model("http://vllm.inference.svc:8000"))).toContain(
      "backend primary: its url has no path; the gateway appends /chat/completions, and most servers answer that below /v1 only",
    );
  });

  test.for([
    ["https://models.example/v1", "ChatCompletions"],
    ["https://models.example", "Messages"],
  ] as const)("of nothing about %s for %s", async ([url, protocol]) => {
    expect(await warning("team-a", model(url, protocol))).toBe("nothing");
  });
});

test("people who may edit a namespace may write ApiKeys there, but only read Models", async () => {
  const rulesOf = async (name: string): Promise<unknown> =>
    JSON.parse(await api().kubectl(["get", "clusterrole", `${NAMESPACE}-${NAME}-${name}`, "--output", "jsonpath={.rules}"]));
  expect(await rulesOf("view")).toEqual([
    { apiGroups: ["modelgateway.dev"], resources: ["models", "apikeys"], verbs: ["get", "list", "watch"] },
  ]);
  expect(await rulesOf("edit")).toEqual([
    {
      apiGroups: ["modelgateway.dev"],
      resources: ["apikeys"],
      verbs: ["create", "update", "patch", "delete", "deletecollection"],
    },
  ]);
});

test("the definitions in the chart are those in crds/", async () => {
  const specOf = async (name: string) => api().kubectl(["get", "crd", name, "--output", "jsonpath={.spec.versions}"]);
  const installed = await Promise.all(["models.modelgateway.dev", "apikeys.modelgateway.dev"].map(specOf));
  await api().kubectl(["apply", "--server-side", "--force-conflicts", "--filename", path.join(CHART, "../../crds")]);
  expect(await Promise.all(["models.modelgateway.dev", "apikeys.modelgateway.dev"].map(specOf))).toEqual(installed);
});
