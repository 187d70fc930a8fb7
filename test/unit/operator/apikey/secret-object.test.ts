import { expect, test } from "vitest";
import { buildSecret, observeSecret } from "../../../../operator/apikey/secret-object.ts";
import { parseApiKeyResource, type ApiKeyResource } from "../../../../operator/apikey/resource.ts";

function resourceWith(key: string): ApiKeyResource {
  const parsed = parseApiKeyResource({
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "ApiKey",
    metadata: { name: "odd", namespace: "team-a" },
    spec: { account: "team-a", secretRef: { name: "odd", key } },
  });
  if (parsed.kind === "bad") throw new Error(parsed.problems.join());
  return parsed.resource;
}

/** The Secret as the API server returns it. */
function stored(secret: object, removed: string[] = []): unknown {
  const text = JSON.stringify(secret, (name, value: unknown) => (removed.includes(name) ? undefined : value));
  return JSON.parse(text.replace('"metadata":{', '"metadata":{"resourceVersion":"5",'));
}

test.for(["__proto__", "constructor", "toString", "api-key"])("a value may be under any key of a Secret: %s", (key) => {
  const resource = resourceWith(key);
  const secret = buildSecret(resource, "uid", { publicId: "id", value: "sk-value", rotation: 0 });
  expect(observeSecret(stored(secret), { resource, uid: "uid" })).toEqual({
    kind: "owned",
    resourceVersion: "5",
    value: "sk-value",
    rotation: 0,
    hasPrevious: false,
  });
  expect(observeSecret(stored(secret, ["data"]), { resource, uid: "uid" })).toMatchObject({ value: undefined });
});
