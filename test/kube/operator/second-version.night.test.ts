import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { beforeAll, expect, test } from "vitest";
import { ROOT } from "../../../charts/generate/outputs.ts";
import { eventually } from "../../support/eventually.ts";
import { apiKey, model } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStage } from "./use-stage.ts";

/**
 * docs/decisions/0047: how v1beta1 will replace v1alpha1, with an operator that reads v1alpha1, as the one of the release
 * before does while pods are exchanged and after a rollback. The tests are the steps, in their order.
 */
const { api, stage } = useStage("operator-0");
/** kubectl may still believe in a version that the server serves no more. */
const GONE = /doesn't have a resource type|could not find the requested resource/;
const KINDS = ["models", "apikeys"] as const;
let key = "";

const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

const versionSchema = z.looseObject({ name: z.string(), served: z.boolean(), storage: z.boolean() });
const definitionSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ versions: z.tuple([versionSchema]) }),
});

/** The definitions with v1beta1 beside v1alpha1, of the same schema. */
async function definitionsThatStore(stored: "v1alpha1" | "v1beta1"): Promise<string> {
  const texts = await Promise.all(KINDS.map((kind) => readFile(path.join(ROOT, `crds/${kind}.yaml`), "utf8")));
  return texts
    .map((text) => {
      const definition = definitionSchema.parse(parse(text));
      const [only] = definition.spec.versions;
      const versions = ["v1alpha1", "v1beta1"].map((name) => ({ ...only, name, storage: name === stored }));
      return stringify({ ...definition, spec: { ...definition.spec, conversion: { strategy: "None" }, versions } });
    })
    .join("---\n");
}

const apply = (input: string) => api().kubectl(["apply", "--filename", "-"], { input });
const asBeta = (object: object) => ({ ...object, apiVersion: "modelgateway.dev/v1beta1" });
const storedVersions = (kind: (typeof KINDS)[number]) =>
  api().kubectl(["get", "crd", `${kind}.modelgateway.dev`, "--output", "jsonpath={.status.storedVersions}"]);

/** A Model under one version of the API. */
async function read(version: "v1alpha1" | "v1beta1", name: string): Promise<unknown> {
  return JSON.parse(await stage().team.run(["get", `models.${version}.modelgateway.dev`, name, "--output", "json"]));
}

async function expectServed(name: string, apiKeyValue = key): Promise<void> {
  await until(async () => expect((await stage().ask(apiKeyValue, name)).status).toBe(200));
}

async function expectReady(name: string, observedGeneration: number): Promise<void> {
  await until(async () =>
    expect((await stage().team.conditions("model", name))["Ready"]).toMatchObject({ status: "True", observedGeneration }),
  );
}

beforeAll(async () => {
  const { team, upstreamUrl } = stage();
  await team.apply(apiKey("client"), model("old", { url: upstreamUrl }));
  key = await until(async () => (await team.value("client")) ?? "");
  await expectServed("old");
});

test("served beside: existing objects read the same under both versions, and requests continue", async () => {
  await apply(await definitionsThatStore("v1alpha1"));
  const beta = await until(() => read("v1beta1", "old"));
  const alpha = await read("v1alpha1", "old");
  expect(beta).toEqual(asBeta(z.looseObject({}).parse(alpha)));
  await expectServed("old");
});

test("served beside: objects created or changed as v1beta1 are reconciled by an operator of v1alpha1", async () => {
  const { team, upstreamUrl } = stage();
  await team.apply(asBeta(model("new", { url: upstreamUrl })), asBeta(apiKey("client-of-beta")));
  const value = await until(async () => (await team.value("client-of-beta")) ?? "");
  await expectServed("new", value);
  await team.apply(asBeta(model("old", { url: upstreamUrl, spec: { aliases: ["elder"] } })));
  await expectServed("elder");
  await expectReady("old", 2);
});

test("served beside: nothing is stored as v1beta1, so a rollback to the previous release works", async () => {
  for (const kind of KINDS) expect(await storedVersions(kind)).toBe('["v1alpha1"]');
  await api().kubectl(["apply", "--filename", path.join(ROOT, "crds")]);
  await until(() => expect(read("v1beta1", "old")).rejects.toThrow(GONE));
  await stage().team.patch("model", "new", { spec: { aliases: ["again"] } });
  await expectReady("new", 2);
  await expectServed("again");
  await apply(await definitionsThatStore("v1alpha1"));
  await until(() => read("v1beta1", "old"));
});

test("stored: objects stored as v1alpha1 are served, reconciled and deleted as before", async () => {
  const { team, upstreamUrl } = stage();
  await apply(await definitionsThatStore("v1beta1"));
  await until(async () => expect(await storedVersions("models")).toBe('["v1alpha1","v1beta1"]'));
  expect(await read("v1beta1", "old")).toMatchObject({ spec: { modelName: "old", aliases: ["elder"] } });
  await team.patch("model", "new", { spec: { aliases: ["newer"] } });
  await expectReady("new", 3);
  await expectServed("newer");
  await team.apply(model("third", { url: upstreamUrl }));
  await expectServed("third");
  await team.remove("model", "third");
  await until(async () => expect((await stage().ask(key, "third")).status).toBe(404));
  await team.remove("apikey", "client-of-beta");
});

test("stored: a rollback to the previous release is refused with a message instead of losing data", async () => {
  const rollingBack = api().kubectl(["apply", "--filename", path.join(ROOT, "crds")]);
  await expect(rollingBack).rejects.toThrow(/status\.storedVersions\[1\]: Invalid value: "v1beta1"/);
  await expectServed("old");
});

test("rewritten: v1alpha1 can be removed from the definitions, with every object and key intact", async () => {
  for (const kind of KINDS) {
    // Writing an object as it is stores it anew.
    const objects = await api().kubectl(["get", kind, "--all-namespaces", "--output", "json"]);
    await api().kubectl(["replace", "--filename", "-"], { input: objects });
    const status = JSON.stringify({ status: { storedVersions: ["v1beta1"] } });
    const patch = ["patch", "crd", `${kind}.modelgateway.dev`, "--subresource=status", "--type=merge", "--patch", status];
    await api().kubectl(patch);
  }
  await expectServed("old");
  const without = (await definitionsThatStore("v1beta1")).split("---\n").map((text) => {
    const definition = z.looseObject({ spec: z.looseObject({ versions: z.array(versionSchema) }) }).parse(parse(text));
    const versions = definition.spec.versions.filter(({ name }) => name === "v1beta1");
    return stringify({ ...definition, spec: { ...definition.spec, versions } });
  });
  await apply(without.join("---\n"));
  await until(() => expect(read("v1alpha1", "old")).rejects.toThrow(GONE));
  expect(await read("v1beta1", "old")).toMatchObject({ spec: { modelName: "old" }, status: { names: ["old", "elder"] } });
  // What the operator said last stays in force in Envoy.
  await expectServed("old");
});
