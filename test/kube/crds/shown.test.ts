import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { GROUP, VERSION } from "../../../operator/crd/group.ts";
import { installCrds } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";

const api = useKubeApi();
const golden = (name: string) => path.join(import.meta.dirname, "shown", `${name}.txt`);

const SINCE = "2026-01-01T00:00:00Z";
const MESSAGES = {
  Ready: "clients can use it",
  Active: "requests with the key are served",
  SecretNotFound: "there is no Secret default/acme",
  AccountUnknown: "there is no account team-b; make it in the dashboard",
};
const ready = (reason: keyof typeof MESSAGES) => [
  {
    type: "Ready",
    status: reason === "Ready" || reason === "Active" ? "True" : "False",
    reason,
    message: MESSAGES[reason],
    lastTransitionTime: SINCE,
  },
];

const RESOURCES = [
  {
    kind: "Model",
    name: "large",
    spec: {
      modelName: "acme-large",
      pricing: { inputPerMillion: "3.00", outputPerMillion: "15.00" },
      deprecation: { sunsetTime: "2099-06-30T00:00:00Z" },
      backends: [{ name: "primary", protocol: "ChatCompletions", url: "https://models.example.com/v1" }],
    },
    status: { observedGeneration: 1, backendsSummary: "1/1", configVersion: "7c1f", conditions: ready("Ready") },
  },
  {
    kind: "Model",
    name: "small",
    spec: {
      modelName: "acme-small",
      pricing: { inputPerMillion: "0.30", outputPerMillion: "1.20" },
      backends: [{ name: "primary", protocol: "Messages", url: "https://models.example.com" }],
    },
    status: {
      backendsSummary: "0/1",
      backends: [{ name: "primary", ready: false, reason: "SecretNotFound", message: "there is no Secret default/acme" }],
      conditions: ready("SecretNotFound"),
    },
  },
  {
    kind: "ApiKey",
    name: "nightly",
    spec: { account: "team-a", expiresAt: "2099-01-31T00:00:00Z", spendLimit: { amount: "250", window: "Month" } },
    status: {
      keyId: "AbCdEfGhWxYz",
      keyPrefix: "sk-mg-AbCd****WxYz",
      secretName: "nightly",
      observedRotation: 0,
      lastUsedAt: SINCE,
      spend: { amount: "17.250000000", asOf: SINCE },
      conditions: ready("Active"),
    },
  },
  { kind: "ApiKey", name: "stranger", spec: { account: "team-b" }, status: { conditions: ready("AccountUnknown") } },
] as const;

beforeAll(async () => {
  await installCrds(api());
  for (const { kind, name, spec, status } of RESOURCES) {
    const collection = `/apis/${GROUP}/${VERSION}/namespaces/default/${kind.toLowerCase()}s`;
    const content = { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name }, spec };
    await api().send(`${collection}?fieldValidation=Strict`, { how: "POST", content });
    await api().send(`${collection}/${name}/status?fieldValidation=Strict`, { how: "MERGE", content: { status } });
  }
});

describe.for(["models", "apikeys"])("%s", (plural) => {
  test("are listed with what an administrator looks for first", async () => {
    const [few, many] = [await get(plural), await get(plural, "--output=wide")];
    await expect(`${few}\n${many}`).toMatchFileSnapshot(golden(`get-${plural}`));
  });

  test("are explained field by field", async () => {
    const fields = await api().kubectl(["explain", plural, "--recursive"]);
    // What stands before is the same for every kind.
    await expect(fields.slice(fields.indexOf("  spec\t"))).toMatchFileSnapshot(golden(`explain-${plural}`));
  });

  test("have a description for every field", async () => {
    const schema = await openApiSchema(plural === "models" ? "Model" : "ApiKey");
    const fields = fieldsOf(schema, "");
    expect(fields.length).toBeGreaterThan(20);
    expect(fields.filter(({ description }) => (description ?? "") === "")).toStrictEqual([]);
  });
});

test("a Model is found by the name that clients use, an ApiKey by its account", async () => {
  expect(await api().kubectl(["get", "models", "--field-selector=spec.modelName=acme-small", "--output=name"])).toBe(
    `model.${GROUP}/small\n`,
  );
  expect(await api().kubectl(["get", "apikeys", "--field-selector=spec.account=team-a", "--output=name"])).toBe(
    `apikey.${GROUP}/nightly\n`,
  );
});

test.for(["llm,ak", "gateway"])("%s names Models and ApiKeys alike", async (names) => {
  const listed = await api().kubectl(["get", names, "--output=jsonpath={.items[*].metadata.name}"]);
  expect(listed.split(" ").sort()).toStrictEqual(RESOURCES.map(({ name }) => name).sort());
});

/** Without the age, the last column. */
async function get(plural: string, ...more: string[]): Promise<string> {
  const text = await api().kubectl(["get", plural, ...more]);
  return text.replaceAll(/ +(AGE|(\d+[dhms])+)$/gm, "");
}

const nodeSchema = z.object({
  description: z.string().optional(),
  get properties() {
    return z.record(z.string(), nodeSchema).optional();
  },
  get items() {
    return nodeSchema.optional();
  },
});
type Node = z.infer<typeof nodeSchema>;

const documentSchema = z.object({ components: z.object({ schemas: z.record(z.string(), nodeSchema) }) });

async function openApiSchema(kind: string): Promise<Node> {
  const text = await api().kubectl(["get", "--raw", `/openapi/v3/apis/${GROUP}/${VERSION}`]);
  const { schemas } = documentSchema.parse(JSON.parse(text)).components;
  const found = schemas[`dev.modelgateway.${VERSION}.${kind}`];
  if (found === undefined) throw new Error(`The API server publishes no ${kind}, but ${Object.keys(schemas).join(", ")}`);
  const { spec, status } = found.properties ?? {};
  if (spec === undefined || status === undefined) throw new Error(`${kind} has no spec or no status`);
  return { properties: { spec, status } };
}

function fieldsOf({ properties = {}, items }: Node, at: string): { name: string; description: string | undefined }[] {
  const below = items === undefined ? [] : fieldsOf(items, `${at}[]`);
  const own = Object.entries(properties).flatMap(([name, field]) => [
    { name: `${at}.${name}`, description: field.description },
    ...fieldsOf(field, `${at}.${name}`),
  ]);
  return [...own, ...below];
}
