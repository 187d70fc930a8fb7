import { parseAllDocuments } from "yaml";
import { expect, test } from "vitest";
import { useHelm } from "../support/kube/use-helm.ts";
import { CHART, NAMESPACE, RELEASE } from "./harness-render.ts";

const helm = useHelm();

/** Names that Kubernetes takes, and that mean something else to YAML: Norway, a thousand, nothing. */
const values = {
  fullnameOverride: "on",
  watchNamespaces: ["no", "1e3", "007"],
  database: {
    existingSecret: "1e3",
    key: "on",
    reports: { existingSecret: "2e3", key: "no" },
    tls: { mode: "verify-full", caSecret: "3e3" },
  },
  pepper: { existingSecret: "123", key: "null" },
  providerKeys: { enabled: true, existingSecret: "true", key: "yes" },
  migration: { existingSecret: "0x1", key: "off", serviceAccount: { name: "4e3" } },
  trustedCa: { secret: "5e3" },
  tls: { enabled: true, existingSecret: "6e3" },
  internalTls: { existingSecrets: { gateway: "7", operator: "8", dashboard: "9" } },
  gateway: {
    envoy: { logLevel: "off" },
    journal: { className: "1e1" },
    priorityClassName: "2e1",
    serviceAccount: { name: "3e1" },
    service: { loadBalancerClass: "1e2" },
  },
  operator: {
    backends: { allowNamespaces: ["no", "1e3"] },
    priorityClassName: "no",
    serviceAccount: { name: "4e1" },
  },
  dashboard: { settingsSecret: "5e1", priorityClassName: "yes", serviceAccount: { name: "6e1" } },
  ingress: { enabled: true, className: "7e1", hosts: ["gateway.example"] },
  httpRoute: { enabled: true, parentRefs: [{ name: "8e1" }] },
  test: { keySecret: "9e1", key: "null", namespace: "no" },
};

/** Keys whose values are names, wherever they are. Ports are numbers, and have other keys. */
const NAMES = new Set([
  "name",
  "namespace",
  "key",
  "secretName",
  "serviceAccountName",
  "storageClassName",
  "priorityClassName",
  "ingressClassName",
  "loadBalancerClass",
  "kubernetes.io/metadata.name",
]);

function wrongIn(value: unknown, path: string): string[] {
  if (Array.isArray(value)) {
    const isText = /\.(args|command|resourceNames)$/.test(path);
    return value.flatMap((item, at) =>
      isText && typeof item !== "string" ? [`${path}[${at}]: ${String(item)}`] : wrongIn(item, `${path}[${at}]`),
    );
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    NAMES.has(key) && typeof item !== "string" && typeof item !== "object"
      ? [`${path}.${key}: ${String(item)}`]
      : wrongIn(item, `${path}.${key}`),
  );
}

test.for(["1.1", "1.2"] as const)("names stay names, whatever they mean in YAML %s", async (version) => {
  // In quotes, as one has to write them.
  const input = JSON.stringify(values);
  const text = await helm().helm(["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-"], { input });
  const wrong = parseAllDocuments(text, { version }).flatMap((document) => {
    const object: unknown = document.toJS();
    return wrongIn(object, "");
  });
  expect(wrong).toEqual([]);
});
