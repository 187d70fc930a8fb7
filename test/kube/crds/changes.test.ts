import { beforeAll, describe, expect, test } from "vitest";
import { GROUP, VERSION } from "../../../operator/crd/group.ts";
import { installCrds } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";

const api = useKubeApi();
beforeAll(() => installCrds(api()));

const MODEL = {
  modelName: "modelx",
  pricing: { inputPerMillion: "3", outputPerMillion: "15" },
  backends: [{ name: "primary", protocol: "ChatCompletions", url: "https://models.example.com/v1" }],
};
const NEXT_PRICE = { from: "2027-01-01T00:00:00Z", inputPerMillion: "1", outputPerMillion: "5" };

describe("a Model", () => {
  test("keeps its modelName", async () => {
    const model = await create("Model", MODEL);
    await expect(model.patch({ modelName: "modely" })).rejects.toThrow(
      /spec\.modelName: .*is immutable; create another Model for another name/,
    );
  });

  test("may change everything else, from one extreme to the other and back", async () => {
    const model = await create("Model", MODEL);
    await model.patch({
      aliases: ["other"],
      suspended: true,
      pricing: { inputPerMillion: "2", schedule: [NEXT_PRICE] },
      deprecation: { sunsetTime: "2027-01-01T00:00:00Z" },
      backends: [{ name: "secondary", protocol: "Messages", url: "https://models.example.com" }],
    });
    await model.patch({ ...MODEL, aliases: null, suspended: null, deprecation: null });
  });
});

describe("an ApiKey", () => {
  test("stays with its account", async () => {
    const key = await create("ApiKey", { account: "team-a" });
    await expect(key.patch({ account: "team-b" })).rejects.toThrow(/spec\.account: .*is immutable; create another ApiKey/);
  });

  test.for([
    { change: "moved", before: { name: "first" }, after: { name: "second" } },
    { change: "put under another key", before: { name: "first" }, after: { name: "first", key: "token" } },
    { change: "removed", before: { name: "first" }, after: null },
    { change: "named later", before: undefined, after: { name: "first" } },
  ])("does not let its Secret be $change", async ({ before, after }) => {
    const key = await create("ApiKey", { account: "team-a", ...(before === undefined ? {} : { secretRef: before }) });
    await expect(key.patch({ secretRef: after })).rejects.toThrow(/spec\.secretRef: .*is immutable; create another ApiKey/);
  });

  test("may state the default of its Secret's key", async () => {
    const key = await create("ApiKey", { account: "team-a", secretRef: { name: "first" } });
    await key.patch({ secretRef: { name: "first", key: "api-key" } });
  });

  test("is rotated only upwards", async () => {
    const key = await create("ApiKey", { account: "team-a" });
    await key.patch({ rotation: { generation: 2 } });
    await key.patch({ rotation: { generation: 2, overlap: "0s" } });
    await key.patch({ rotation: { generation: 7 } });
    const refusal = /spec\.rotation: .*must not decrease or be removed; increase it to rotate the key/;
    await expect(key.patch({ rotation: { generation: 6 } })).rejects.toThrow(refusal);
    await expect(key.patch({ rotation: null })).rejects.toThrow(refusal);
  });

  test("may change everything else, from one extreme to the other and back", async () => {
    const key = await create("ApiKey", { account: "team-a" });
    const all = {
      displayName: "Nightly",
      disabled: true,
      expiresAt: "2027-01-01T00:00:00Z",
      allowedModels: ["modelx"],
      spendLimit: { amount: "1", window: "Day" },
      rateLimits: { requestsPerMinute: 1 },
    };
    await key.patch(all);
    await key.patch(Object.fromEntries(Object.keys(all).map((name) => [name, null])));
  });
});

test("a status update does not change the spec, nor the reverse", async () => {
  const key = await create("ApiKey", { account: "team-a" });
  await key.patch({ disabled: true }, { status: { keyId: "written beside" } });
  await key.patchStatus({ keyId: "AbCdEfGhIjKl" }, { spec: { disabled: false } });
  expect(await key.read("{.spec.disabled} {.status.keyId}")).toBe("true AbCdEfGhIjKl");
});

let made = 0;

async function create(kind: "Model" | "ApiKey", spec: object) {
  const { send, kubectl } = api();
  const name = `sample-${++made}`;
  const collection = `/apis/${GROUP}/${VERSION}/namespaces/default/${kind.toLowerCase()}s`;
  const strictly = "fieldValidation=Strict";
  await send(`${collection}?${strictly}`, {
    how: "POST",
    content: { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name }, spec },
  });
  const patch = (content: object, subresource = "") =>
    send(`${collection}/${name}${subresource}?${strictly}`, { how: "MERGE", content });
  return {
    patch: (change: object, beside: object = {}) => patch({ spec: change, ...beside }),
    patchStatus: (change: object, beside: object = {}) => patch({ status: change, ...beside }, "/status"),
    read: (fields: string) => kubectl(["get", `${kind.toLowerCase()}s.${GROUP}/${name}`, "--output", `jsonpath=${fields}`]),
  };
}
