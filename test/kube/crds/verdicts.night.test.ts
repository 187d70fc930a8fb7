import { ApiException, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { parseApiKeyResource } from "../../../operator/apikey/resource.ts";
import { GROUP, VERSION } from "../../../operator/crd/group.ts";
import { parseModelResource } from "../../../operator/model/resource.ts";
import { installCrds } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";
import { apiKeySpecs, modelSpecs } from "./specs.ts";

const RUNS = 500;

const api = useKubeApi();
let client: CustomObjectsApi;
beforeAll(async () => {
  await installCrds(api());
  const config = new KubeConfig();
  config.loadFromFile(api().kubeconfig);
  client = config.makeApiClient(CustomObjectsApi);
});

test.for([
  { kind: "Model", plural: "models", specs: modelSpecs, parseResource: parseModelResource },
  { kind: "ApiKey", plural: "apikeys", specs: apiKeySpecs, parseResource: parseApiKeyResource },
])("the API server accepts a $kind exactly if a folder of manifests does", async (resource) => {
  const seen = { good: 0, bad: 0 };
  await fc.assert(
    fc.asyncProperty(resource.specs, async (spec) => {
      const document = { apiVersion: `${GROUP}/${VERSION}`, kind: resource.kind, metadata: { name: "sample" }, spec };
      const parsed = resource.parseResource(document);
      seen[parsed.kind] += 1;
      const answer = await create(resource.plural, document);
      expect({ answer, parsed }).toMatchObject({ answer: { kind: parsed.kind } });
      // Kubernetes fills in the same defaults.
      const stored = answer.kind === "good" ? resource.parseResource(answer.stored) : answer;
      expect(specOf(stored)).toStrictEqual(specOf(parsed));
    }),
    { numRuns: RUNS },
  );
  // Specifications that are nearly all bad, or good, would prove little.
  expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(RUNS / 10);
});

type Answer = { kind: "good"; stored: unknown } | { kind: "bad"; refusal: string };

async function create(plural: string, body: object): Promise<Answer> {
  const request = { group: GROUP, version: VERSION, namespace: "default", plural, body };
  try {
    const stored: unknown = await client.createNamespacedCustomObject({ ...request, dryRun: "All", fieldValidation: "Strict" });
    return { kind: "good", stored };
  } catch (error) {
    if (error instanceof ApiException && (error.code === 422 || error.code === 400))
      return { kind: "bad", refusal: String(error.body) };
    throw error;
  }
}

function specOf(read: { kind: "good"; resource: { spec: unknown } } | { kind: "bad" }): unknown {
  return read.kind === "good" ? read.resource.spec : "none";
}
