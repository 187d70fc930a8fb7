import { stringify } from "yaml";
import { expect, test } from "vitest";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createAddressPolicy } from "../../../operator/address/policy.ts";
import { parseModelResource } from "../../../operator/model/resource.ts";
import { reconcile } from "../../../operator/model/reconcile.ts";
import { readFolder } from "../../../operator/source/folder-content.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** What a Model may say, the ledger must be able to keep: the catalogue is published as a whole. */
const postgres = usePostgres();
const HIGHEST = "999999999.999999";
const HIGHEST_UNIT = "999999.999999";
const COUNT = Number.MAX_SAFE_INTEGER;
/** Whatever a text may contain but U+0000. */
const ODD = "\u0001\r\n\t\u007f\u2028\u202e\u{1F600}";

function model(name: string, spec: object, backend: object = {}): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name },
    spec: {
      modelName: `${name}/`.padEnd(128, "x"),
      displayName: ODD,
      description: ODD,
      limits: { contextWindow: COUNT, maxOutputTokens: COUNT },
      ...spec,
      backends: [
        { name: "b".repeat(63), protocol: "ChatCompletions", url: "https://models.example/v1", upstreamModel: ODD, ...backend },
      ],
    },
  };
}

const tokens = { inputPerMillion: HIGHEST, outputPerMillion: HIGHEST };
const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "provider" }, stringData: { "api-key": "its-key" } };
const models = [
  model(
    "chat",
    {
      pricing: { ...tokens, cachedInputPerMillion: HIGHEST, cacheWritePerMillion: HIGHEST, batch: tokens },
      cost: tokens,
      batch: { enabled: true },
      guardrail: { url: "https://checks.example/v1", model: ODD },
    },
    { profile: { efforts: { low: ODD } } },
  ),
  model(
    "own-key",
    { pricing: { ...tokens, providerKeyFee: { perRequest: HIGHEST_UNIT, percent: "100" } } },
    { credentialRef: { name: "provider" }, bringYourOwnKey: { provider: "provider" } },
  ),
  model("rerank", {
    interfaces: ["Rerank"],
    limits: { contextWindow: COUNT },
    pricing: { inputPerMillion: HIGHEST, searchPerThousand: HIGHEST },
  }),
  model("speech", {
    interfaces: ["Speech"],
    limits: { contextWindow: COUNT },
    pricing: { inputPerMillion: HIGHEST, charactersPerMillion: HIGHEST },
  }),
  model("transcription", {
    interfaces: ["Transcription"],
    pricing: { ...tokens, perMinute: HIGHEST_UNIT },
    cost: { ...tokens, perMinute: HIGHEST_UNIT },
  }),
  model("images", {
    interfaces: ["ImageGeneration"],
    pricing: { outputPerMillion: HIGHEST, perImage: HIGHEST_UNIT, images: [{ quality: "high", perImage: HIGHEST_UNIT }] },
    cost: { outputPerMillion: HIGHEST, perImage: HIGHEST_UNIT },
  }),
];

test("Models with the largest values and the oddest texts are published", async () => {
  const { database } = await postgres.migrated();
  const text = [secret, ...models].map((each) => stringify(each)).join("---\n");
  const { set, refusals } = readFolder([{ name: "in.yaml", text, createdSeconds: 1 }], new Map(), {});
  expect(refusals).toEqual([]);
  const plan = reconcile({
    set,
    nowMs: 0,
    roots: { pem: "", extra: { usable: [], unusable: [] } },
    mayProbe: true,
    policy: createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], google: null }),
    addresses: new Map(),
    missingHosts: new Set(),
    rejected: new Map(),
    serving: new Map(),
  });
  expect((await publishModels(database, plan.catalogue)).added.length).toBe(models.length);
  expect((await publishModels(database, plan.catalogue)).changed).toEqual([]);
});

test.for([
  ["spec.displayName must not contain the character U+0000", { displayName: "a\0", pricing: tokens }, {}],
  ["spec.description must not contain the character U+0000", { description: "a\0", pricing: tokens }, {}],
  ["spec.backends[0].upstreamModel must not contain the character U+0000", { pricing: tokens }, { upstreamModel: "a\0" }],
  [
    "spec.backends[0].profile.efforts.low must not contain the character U+0000",
    { pricing: tokens },
    { profile: { efforts: { low: "a\0" } } },
  ],
  [
    "spec.guardrail.model must not contain the character U+0000",
    { pricing: tokens, guardrail: { url: "https://checks.example/v1", model: "a\0" } },
    {},
  ],
  ["spec.pricing.perImage must be less than 1000000", { interfaces: ["ImageGeneration"], pricing: { perImage: "1000000" } }, {}],
] as const)("what cannot be stored is a problem of its Model alone: %s", ([problem, spec, backend]) => {
  expect(parseModelResource(model("sample", spec, backend))).toEqual({ kind: "bad", problems: [problem] });
});
