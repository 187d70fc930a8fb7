import { createRegistry, toJson } from "@bufbuild/protobuf";
import { AnySchema, type Any } from "@bufbuild/protobuf/wkt";
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { rootCertificates } from "node:tls";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { PROFILE_NAMES, PROFILES, type Profile } from "../../../../contract/profile.ts";
import { createAddressPolicy, type AddressPolicyOptions } from "../../../../operator/address/policy.ts";
import { reconcile, type Plan, type ReconcileInput } from "../../../../operator/model/reconcile.ts";
import { toProgrammed } from "../../../../operator/model/status.ts";
import { readFolder } from "../../../../operator/source/folder-content.ts";
import { wantedConditions } from "../../../../operator/source/kube/model-status.ts";
import { buildSnapshot } from "../../../../operator/xds/snapshot.ts";
import { ClusterSchema } from "../../../../runtime/gen/envoy/config/cluster/v3/cluster_pb.js";
import { AwsRequestSigningSchema } from "../../../../runtime/gen/envoy/extensions/filters/http/aws_request_signing/v3/aws_request_signing_pb.js";
import { CredentialInjectorSchema } from "../../../../runtime/gen/envoy/extensions/filters/http/credential_injector/v3/credential_injector_pb.js";
import { RBACSchema } from "../../../../runtime/gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { TypedExtensionConfigSchema } from "../../../../runtime/gen/envoy/config/core/v3/extension_pb.js";
import { UpstreamCodecSchema } from "../../../../runtime/gen/envoy/extensions/filters/http/upstream_codec/v3/upstream_codec_pb.js";
import { OAuth2Schema } from "../../../../runtime/gen/envoy/extensions/http/injected_credentials/oauth2/v3/oauth2_pb.js";
import { GenericSchema } from "../../../../runtime/gen/envoy/extensions/http/injected_credentials/generic/v3/generic_pb.js";
import { SecretSchema } from "../../../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import { UpstreamIpPortMatcherSchema } from "../../../../runtime/gen/envoy/extensions/rbac/matchers/upstream_ip_port/v3/upstream_ip_port_matcher_pb.js";
import { UpstreamTlsContextSchema } from "../../../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { HttpProtocolOptionsSchema } from "../../../../runtime/gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js";

const registry = createRegistry(
  ClusterSchema,
  SecretSchema,
  UpstreamTlsContextSchema,
  AwsRequestSigningSchema,
  TypedExtensionConfigSchema,
  HttpProtocolOptionsSchema,
  CredentialInjectorSchema,
  GenericSchema,
  OAuth2Schema,
  UpstreamCodecSchema,
  RBACSchema,
  UpstreamIpPortMatcherSchema,
);

function policyOf(options: Partial<AddressPolicyOptions>) {
  return createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], ...options });
}
const google = { metadata: { host: "169.254.169.254", port: 80 }, hosts: [] };
/** What name servers say in the files. */
const addresses = new Map([["inside.example", ["10.1.2.3"]]]);

const nothingYet = {
  nowMs: Date.parse("2026-11-21T00:00:00Z"),
  roots: { pem: "the public roots", extra: { usable: [], unusable: [] } },
  mayProbe: true,
  policy: policyOf({}),
  addresses: new Map(),
  missingHosts: new Set<string>(),
  rejected: new Map(),
  serving: new Map(),
};

function planFor(text: string, overrides: Partial<ReconcileInput> = {}): Plan {
  const { set, refusals } = readFolder([{ name: "in.yaml", text, createdSeconds: 1_795_000_000 }], new Map(), {});
  expect(refusals).toEqual([]);
  return reconcile({ set, ...nothingYet, ...overrides });
}

/** What both sides are told, as YAML for eyes. */
function render(plan: Plan): string {
  const { clusters, secrets, filters } = buildSnapshot(plan.snapshot);
  return stringify({
    catalogue: plan.catalogue.map(({ model, price }) => ({
      ...model,
      backends: model.backends.map(({ profile, ...backend }) => ({ ...backend, unlikeGeneric: difference(profile) })),
      price,
    })),
    statuses: Object.fromEntries(plan.statuses),
    clusters: [...clusters.values()].map(plain),
    secrets: [...secrets.values()].map(plain),
    filters: [...filters.values()].map(plain),
  });
}

function difference(profile: Profile) {
  const generic = new Map(Object.entries(PROFILES.generic));
  return Object.fromEntries(Object.entries(profile).filter(([flag, value]) => !isDeepStrictEqual(value, generic.get(flag))));
}

/** JSON, with the ranges of addresses that a request may not go to in one line. */
function plain(any: Any): unknown {
  const text = JSON.stringify(toJson(AnySchema, any, { registry }), (key, value: unknown) => {
    if (key !== "rules") return value;
    const prefixes = JSON.stringify(value).matchAll(/"addressPrefix":"([^"]+)","prefixLen":(\d+)/g);
    return [...prefixes].map(([, address, length]) => `${address}/${length}`).join(" ");
  });
  return JSON.parse(text);
}

test.for([
  { name: "in-force", file: "test/unit/operator/model/reconcile/in-force.in.yaml", allowCidrs: ["10.0.0.7/32", "::1/128"] },
  { name: "refused", file: "test/unit/operator/model/reconcile/refused.in.yaml" },
  { name: "local-manifests", file: "local/manifests/models.yaml", allowCidrs: ["127.0.0.0/8", "::1/128"] },
])("manifests become a catalogue, clusters and statuses: $name", async ({ name, file, allowCidrs = [] }) => {
  const plan = planFor(await readFile(file, "utf8"), { policy: policyOf({ allowCidrs, google }), addresses });
  await expect(render(plan)).toMatchFileSnapshot(`reconcile/${name}.out.yaml`);
});

const model = (backends: string) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata: { name: modelx, creationTimestamp: "2026-11-01T00:00:00Z" }
spec: { modelName: modelx, pricing: { inputPerMillion: "1", outputPerMillion: "2" }, backends: [${backends}] }
`;
const clustersOf = (plan: Plan) => [...plan.snapshot.clusters.keys()];

test("a cluster's name depends on what matters to Envoy, and nothing else", () => {
  const nameFor = (backend: string) => clustersOf(planFor(model(backend)))[0];
  const base = nameFor("{ name: a, protocol: ChatCompletions, url: 'http://one/v1' }");
  expect(base).toMatch(/^model\/modelx\/a\/[0-9a-f]{8}$/);
  expect(nameFor("{ name: a, protocol: ChatCompletions, url: 'http://one/v1', weight: 5, upstreamModel: other }")).toBe(base);
  expect(nameFor("{ name: a, protocol: ChatCompletions, url: 'http://two/v1' }")).not.toBe(base);
  expect(nameFor("{ name: a, protocol: ChatCompletions, url: 'http://one:81/v1' }")).not.toBe(base);
  expect(nameFor("{ name: a, protocol: ChatCompletions, url: 'http://one/v1', timeouts: { connect: 1s } }")).not.toBe(base);
});

test.for(PROFILE_NAMES)(
  "a backend that names the preset %s gets each of its flags, except those that it sets itself",
  (preset) => {
    const profileFor = (profile: string) =>
      planFor(model(`{ name: a, protocol: ChatCompletions, url: 'http://one/v1', profile: ${profile} }`)).catalogue[0]?.model
        .backends[0]?.profile;
    expect(profileFor(`{ preset: ${preset} }`)).toEqual(PROFILES[preset]);
    expect(profileFor(`{ preset: ${preset}, accepts: [verbosity], minOutputTokens: null }`)).toEqual({
      ...PROFILES[preset],
      accepts: ["verbosity"],
      minOutputTokens: null,
    });
  },
);

test("a rotated credential changes the secret and not the cluster", () => {
  const withKey = (value: string) =>
    planFor(`${model("{ name: a, protocol: Messages, url: 'http://one', credentialRef: { name: s } }")}
---
{ apiVersion: v1, kind: Secret, metadata: { name: s }, stringData: { api-key: ${value} } }`);
  const [before, after] = [withKey("before"), withKey("after")];
  expect(clustersOf(after)).toEqual(clustersOf(before));
  expect(after.snapshot.secrets.get("credential/default/s/api-key/plain")).toEqual({ kind: "credential", headerValue: "after" });
});

test("a Model names the providers whose keys it takes while none of their backends is ready (S59)", () => {
  const own = (name: string, secret: string) =>
    `{ name: ${name}, protocol: Messages, url: 'http://${name}', credentialRef: { name: ${secret} }, bringYourOwnKey: { provider: example } }`;
  const unready = (...backends: string[]) => {
    const text = model(backends.join(", ")).replace('outputPerMillion: "2"', '$&, providerKeyFee: { percent: "5" }');
    const secret = "{ apiVersion: v1, kind: Secret, metadata: { name: s }, stringData: { api-key: word } }";
    return planFor(`${text}\n---\n${secret}`).catalogue[0]?.model.unreadyProviders;
  };
  const plain = "{ name: plain, protocol: Messages, url: 'http://plain' }";
  expect(unready(own("a", "missing"), plain)).toEqual(["example"]);
  expect(unready(own("a", "missing"), own("b", "s"), plain)).toBeUndefined();
  expect(unready(plain, own("b", "s"))).toBeUndefined();
});

test("a Model whose cluster Envoy rejected is served by its last valid version, and reports that", () => {
  const good = planFor(model("{ name: a, protocol: Messages, url: 'http://good' }"));
  const next = model("{ name: a, protocol: Messages, url: 'http://bad' }");
  const [bad = ""] = clustersOf(planFor(next));
  const plan = planFor(next, { rejected: new Map([[bad, "malformed"]]), serving: good.served });
  expect(plan.catalogue).toEqual(good.catalogue);
  expect(clustersOf(plan)).toEqual(clustersOf(good));
  expect(plan.statuses.get("default/modelx")?.conditions.at(-1)).toEqual({
    type: "Programmed",
    isTrue: false,
    reason: "RejectedByEnvoy",
    message: "malformed; the last valid version stays in force",
  });
});

test("a Model whose only version Envoy rejected is not served, and its correction is", () => {
  const first = model("{ name: a, protocol: Messages, url: 'http://bad' }");
  const rejected = new Map(clustersOf(planFor(first)).map((cluster) => [cluster, "malformed"]));
  expect(planFor(first, { rejected }).catalogue).toEqual([]);
  expect(planFor(model("{ name: a, protocol: Messages, url: 'http://better' }"), { rejected }).catalogue).toHaveLength(1);
});

test("a Model is not served while Envoy rejects the server that issues its tokens", () => {
  const oauth = "oauth: { tokenUrl: 'http://login/token', clientId: gateway, secretRef: { name: s } }";
  const first = `${model(`{ name: a, protocol: Messages, url: 'http://good', credential: { ${oauth} } }`)}
---
{ apiVersion: v1, kind: Secret, metadata: { name: s }, stringData: { client-secret: word } }`;
  const [, token = ""] = clustersOf(planFor(first));
  expect(token).toMatch(/^model~modelx~a~[0-9a-f]{8}~token$/);
  const plan = planFor(first, { rejected: new Map([[token, "malformed"]]) });
  expect(plan.catalogue).toEqual([]);
  // Until the Model is corrected.
  expect(plan.wantedParts).toContain(token);
  const status = plan.statuses.get("default/modelx");
  expect(status?.conditions.at(-1)).toMatchObject({ reason: "RejectedByEnvoy", message: "malformed" });
  expect(status?.backends).toMatchObject([{ name: "a", isReady: false, message: "malformed" }]);
});

/** Models in the order of their age. */
const aged = (...specs: readonly { name: string; aliases: string }[]) =>
  specs
    .map(
      ({ name, aliases }, at) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata: { name: ${name}, creationTimestamp: "2026-11-0${at + 1}T00:00:00Z" }
spec:
  modelName: ${name}
  aliases: [${aliases}]
  pricing: { inputPerMillion: "1", outputPerMillion: "2" }
  backends: [{ name: a, protocol: Messages, url: "http://one" }]
`,
    )
    .join("\n---\n");
const namesIn = ({ catalogue }: Plan) => catalogue.map(({ model }) => [model.name, ...model.aliases]);

test("a Model keeps its served name: an alias added to an older one is rejected, and nothing else of that Model", () => {
  const before = planFor(aged({ name: "older", aliases: "" }, { name: "newer", aliases: "popular" }));
  const next = aged({ name: "older", aliases: "newer, popular, own" }, { name: "newer", aliases: "popular" });
  const after = planFor(next, { serving: before.served });
  expect(namesIn(after)).toEqual([
    ["older", "own"],
    ["newer", "popular"],
  ]);
  const status = after.statuses.get("default/older");
  expect(status?.names).toEqual(["older", "own"]);
  expect(status?.conditions.find(({ type }) => type === "AliasesAccepted")).toEqual({
    type: "AliasesAccepted",
    isTrue: false,
    isPartial: true,
    reason: "NameConflict",
    message:
      "spec.aliases: the name newer is already taken by Model newer (in.yaml); choose another; " +
      "spec.aliases: the name popular is already taken by Model newer (in.yaml); choose another",
  });
});

test("after a restart, a Model's served names are known from its status", () => {
  const { set } = readFolder(
    [
      {
        name: "in.yaml",
        text: aged({ name: "older", aliases: "popular" }, { name: "newer", aliases: "popular" }),
        createdSeconds: 0,
      },
    ],
    new Map(),
    {},
  );
  const models = set.models.map((each) => (each.key === "default/newer" ? { ...each, servedNames: ["newer", "popular"] } : each));
  expect(namesIn(reconcile({ ...nothingYet, set: { ...set, models } }))).toEqual([["older"], ["newer", "popular"]]);
});

describe("a Secret that cannot be read", () => {
  const text = model(
    `{ name: one, protocol: Messages, url: "https://one.example", credentialRef: { name: provider }, tls: { caSecretRef: { name: roots } } }`,
  );
  const { set } = readFolder([{ name: "in.yaml", text, createdSeconds: 0 }], new Map(), {});
  const fingerprintsOf = (word: string) => [{ length: word.length, hash: "of the word" }];
  const provider = ["default/provider", new Map([["api-key", "word"]])] as const;
  const roots = ["default/roots", new Map([["ca.crt", rootCertificates[0] ?? ""]])] as const;
  const read = reconcile({ ...nothingYet, fingerprintsOf, set: { ...set, secrets: new Map([provider, roots]) } });
  const applied = new Map(
    read.catalogue.flatMap(({ model: { backends } }) =>
      backends.map(({ cluster, fingerprints = [] }) => [cluster, fingerprints]),
    ),
  );
  const forbidden = { reason: "SecretForbidden", message: "it is forbidden" } as const;
  const unreadable = (...secrets: (typeof provider | typeof roots)[]) => ({
    ...set,
    secrets: new Map<string, ReadonlyMap<string, string>>(secrets),
    unreadableSecrets: new Map([["default/provider", forbidden]]),
  });
  const statusOf = (plan: Plan) => {
    const status = plan.statuses.get("default/modelx");
    return status === undefined ? [] : wantedConditions(toProgrammed(status, "in force"));
  };

  test("leaves what was last applied, whose value only Envoy has, and is reported", () => {
    const plan = reconcile({ ...nothingYet, fingerprintsOf, set: unreadable(roots), applied });
    expect(plan.catalogue).toEqual(read.catalogue);
    expect(plan.snapshot.clusters).toEqual(read.snapshot.clusters);
    expect([...plan.snapshot.secrets.keys()]).toEqual(["roots/default/roots/ca.crt"]);
    expect(statusOf(plan)[0]).toEqual({
      type: "Ready",
      isTrue: false,
      reason: "SecretForbidden",
      message: "backend one: Secret default/provider cannot be read: it is forbidden; gateways that have its value keep using it",
    });
  });

  test("leaves AWS's keys, too, which only Envoy has", () => {
    const { set } = readFolder(
      [
        {
          name: "in.yaml",
          text: model(
            `{ name: one, protocol: ChatCompletions, url: "https://one.example/v1", credential: { aws: { region: us-east-1, secretRef: { name: provider } } } }`,
          ),
          createdSeconds: 0,
        },
      ],
      new Map(),
      {},
    );
    const keys = new Map([
      ["access-key-id", "AKIDEXAMPLE"],
      ["secret-access-key", "signing-key"],
    ]);
    const before = reconcile({ ...nothingYet, fingerprintsOf, set: { ...set, secrets: new Map([["default/provider", keys]]) } });
    const [backend] = before.catalogue.flatMap(({ model: { backends } }) => backends);
    const applied = new Map([[backend?.cluster ?? "", backend?.fingerprints ?? []]]);
    const plan = reconcile({
      ...nothingYet,
      fingerprintsOf,
      set: { ...set, unreadableSecrets: new Map([["default/provider", forbidden]]) },
      applied,
    });
    expect(plan.catalogue).toEqual(before.catalogue);
    expect(plan.snapshot.clusters).toEqual(before.snapshot.clusters);
    expect([...buildSnapshot(before.snapshot).filters.keys()]).toEqual(["signer/default/provider/us-east-1/bedrock/one.example"]);
    expect([...buildSnapshot(plan.snapshot).filters.keys()]).toEqual([]);
    expect(statusOf(plan)[0]).toMatchObject({ type: "Ready", isTrue: false, reason: "SecretForbidden" });
  });

  test("leaves nothing that was not applied, or that is gone", () => {
    expect(reconcile({ ...nothingYet, set: unreadable(roots), applied: new Map() }).catalogue).toEqual([]);
    const gone = { ...set, secrets: new Map([roots]), unreadableSecrets: new Map() };
    const plan = reconcile({ ...nothingYet, set: gone, applied });
    expect(plan.catalogue).toEqual([]);
    expect(statusOf(plan)[0]).toMatchObject({ isTrue: false, reason: "SecretNotFound" });
  });

  test("is reported if its value is known, and changes nothing else", () => {
    const plan = reconcile({ ...nothingYet, fingerprintsOf, set: unreadable(provider, roots) });
    expect({ ...plan, statuses: null }).toEqual({ ...read, statuses: null });
    const [ready, ...others] = statusOf(plan);
    expect(ready).toMatchObject({ type: "Ready", isTrue: true });
    expect(others.find(({ type }) => type === "ResolvedRefs")).toMatchObject({
      isTrue: false,
      message: "backend one: Secret default/provider cannot be read: it is forbidden; its last value stays in force",
    });
  });
});

test("a Model reports its missing hosts; Ready is False if all of them are missing", () => {
  const backend = (name: string, weight: number) =>
    `{ name: ${name}, protocol: Messages, url: "http://${name}.example", weight: ${weight} }`;
  const conditionsOf = (missing: string[]) =>
    planFor(model([backend("one", 1), backend("two", 1), backend("spare", 0)].join(", ")), {
      missingHosts: new Set(missing.map((name) => `${name}.example`)),
    }).statuses.get("default/modelx");
  const reachable = (missing: string[]) => conditionsOf(missing)?.conditions.find(({ type }) => type === "Reachable");
  expect(reachable([])).toMatchObject({ isTrue: true });
  expect(reachable(["one", "spare"])).toEqual({
    type: "Reachable",
    isTrue: false,
    isPartial: true,
    reason: "HostNotFound",
    message:
      "backend one: url: there is no host one.example; correct the name, or create the Service or DNS record; " +
      "backend spare: url: there is no host spare.example; correct the name, or create the Service or DNS record",
  });
  const readyWith = (missing: string[]) => {
    const status = conditionsOf(missing);
    return status === undefined ? undefined : wantedConditions(toProgrammed(status, "in force"))[0];
  };
  expect(readyWith(["one"])).toMatchObject({ type: "Ready", isTrue: true });
  expect(readyWith(["one", "two"])).toMatchObject({ type: "Ready", isTrue: false, reason: "HostNotFound" });
});
