import { stringify } from "yaml";
import { expect, test } from "vitest";
import { useHelm } from "../support/kube/use-helm.ts";
import { EXTERNAL_DATABASE, render } from "./harness-render.ts";

const helm = useHelm();

const cases: { name: string; values: object; message: RegExp }[] = [
  { name: "an unknown value", values: { gateway: { replica: 3 } }, message: /additional properties 'replica' not allowed/ },
  { name: "an unknown group", values: { gatway: { replicas: 3 } }, message: /additional properties 'gatway' not allowed/ },
  {
    name: "an unknown value far below",
    values: { tls: { certManager: { issuerRef: { nam: "x" } } } },
    message: /\/tls\/certManager\/issuerRef.*additional properties 'nam' not allowed/s,
  },
  { name: "a number that is a text", values: { gateway: { replicas: "two" } }, message: /\/gateway\/replicas.*want integer/s },
  { name: "no worker at all", values: { gateway: { extproc: { workers: 0 } } }, message: /extproc\/workers.*minimum/s },
  {
    name: "a word for workers",
    values: { gateway: { extproc: { workers: "all" } } },
    message: /extproc\/workers.*does not match/s,
  },
  { name: "a price as a number", values: { gateway: { extproc: { leaseMaxUsd: 5 } } }, message: /leaseMaxUsd.*want string/s },
  {
    name: "a base URL without a scheme",
    values: { publicBaseUrl: "gateway.example" },
    message: /\/publicBaseUrl.*does not match/s,
  },
  { name: "a drain shorter than any stream", values: { gateway: { drainSeconds: 5 } }, message: /drainSeconds.*minimum/s },
  { name: "a tag in place of a digest", values: { image: { digest: "v1" } }, message: /\/image\/digest.*does not match/s },
  {
    name: "a range that is none",
    values: { operator: { backends: { allowCidrs: ["10.0.0.0"] } } },
    message: /allowCidrs.*does not match/s,
  },
  { name: "no database", values: { database: { existingSecret: "" } }, message: /Which Postgres\? Set database\.existingSecret/ },
  { name: "two databases", values: { postgres: { enabled: true } }, message: /exclude each other: one database holds the money/ },
  {
    name: "TLS without a certificate",
    values: { tls: { enabled: true } },
    message: /tls\.enabled needs one source of the certificate/,
  },
  {
    name: "TLS with two certificates",
    values: { tls: { enabled: true, existingSecret: "a", certManager: { enabled: true } } },
    message: /tls\.enabled needs one source of the certificate/,
  },
  {
    name: "a certificate that nobody issues",
    values: { tls: { enabled: true, certManager: { enabled: true, dnsNames: ["a.example"] } } },
    message: /needs tls\.certManager\.issuerRef\.name/,
  },
  {
    name: "a route that joins no Gateway",
    values: { httpRoute: { enabled: true } },
    message: /httpRoute\.enabled needs httpRoute\.parentRefs/,
  },
  { name: "an Ingress without a name", values: { ingress: { enabled: true } }, message: /ingress\.enabled needs ingress\.hosts/ },
  {
    name: "a smallest number of pods above the largest",
    values: { gateway: { autoscaling: { minReplicas: 5, maxReplicas: 3 } } },
    message: /minReplicas is more than/,
  },
  {
    name: "two bundles of authorities",
    values: { trustedCa: { configMap: "a", secret: "b" } },
    message: /trustedCa\.configMap and trustedCa\.secret exclude each other/,
  },
  {
    name: "an operator without an account of its own",
    values: { operator: { serviceAccount: { create: false } } },
    message: /needs operator\.serviceAccount\.name/,
  },
  {
    name: "two autoscalers",
    values: { gateway: { autoscaling: { external: true } } },
    message: /two autoscalers would fight/,
  },
  {
    name: "an autoscaler that measures nothing",
    values: { gateway: { autoscaling: { targetCpuPercent: 0 } } },
    message: /gateway\.autoscaling needs a metric/,
  },
  {
    name: "monitors of pods and of Services",
    values: { monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
    message: /every metric would be scraped twice/,
  },
  {
    name: "a registry with a scheme",
    values: { global: { imageRegistry: "https://registry.example" } },
    message: /\/global\/imageRegistry.*does not match/s,
  },
  {
    name: "another word for OpenShift",
    values: { openshift: { enabled: "sometimes" } },
    message: /\/openshift\/enabled.*must be one of/s,
  },
  {
    name: "domains whose addresses nobody can prove",
    values: { dashboard: { signUpDomains: ["example.com"] } },
    message: /signUpDomains needs dashboard\.mail\.from or dashboard\.oidc\.issuer/,
  },
  {
    name: "mail without a server",
    values: { dashboard: { mail: { from: "gateway@example.com" } } },
    message: /a Secret with SMTP_URL/,
  },
  {
    name: "an OpenID Connect provider without a client",
    values: { dashboard: { oidc: { issuer: "https://id.example" }, settingsSecret: "dashboard" } },
    message: /needs dashboard\.oidc\.clientId/,
  },
  {
    name: "a domain bound to a provider that is not there",
    values: { dashboard: { providerDomains: { "example.com": "google" } } },
    message: /providerDomains sends example\.com to google, which is not set up/,
  },
  {
    name: "GitHub without its secret",
    values: { dashboard: { github: { clientId: "gateway" } } },
    message: /a Secret with GITHUB_CLIENT_SECRET/,
  },
  {
    name: "an issuer that anybody between can read",
    values: { dashboard: { oidc: { issuer: "http://id.example" } } },
    message: /\/dashboard\/oidc\/issuer.*does not match/s,
  },
  {
    name: "a part without a certificate",
    values: { internalTls: { existingSecrets: { gateway: "envoy", operator: "operator" } } },
    message: /internalTls\.existingSecrets needs a Secret for each part/,
  },
  {
    name: "discovery without certificates",
    values: { internalTls: { enabled: false } },
    message: /\/internalTls\/enabled.*must be one of true/s,
  },
  {
    name: "a duration that the chart cannot count",
    values: { internalTls: { duration: "90d" } },
    message: /internalTls\.duration must be whole hours/,
  },
  {
    name: "certificates that are due from their first moment",
    values: { internalTls: { duration: "24h", renewBefore: "24h" } },
    message: /internalTls\.renewBefore must be less than internalTls\.duration/,
  },
  { name: "spans for nobody", values: { tracing: { enabled: true } }, message: /tracing\.enabled needs tracing\.host/ },
  {
    name: "several namespaces in one text",
    values: { watchNamespaces: ["team-a,team-b"] },
    message: /\/watchNamespaces\/0.*does not match/s,
  },
  {
    name: "a name that no object can have",
    values: { fullnameOverride: "My_Gateway" },
    message: /\/fullnameOverride.*does not match/s,
  },
  {
    name: "a key that no Secret can have",
    values: { database: { existingSecret: "a", tls: { mode: "verify-full", caSecret: "ca", caKey: "ca.crt: x" } } },
    message: /\/database\/tls\/caKey.*does not match/s,
  },
  {
    name: "a duration in days",
    values: { tls: { certManager: { duration: "90d" } } },
    message: /\/tls\/certManager\/duration.*does not match/s,
  },
  {
    name: "a runbook that is an alias to YAML",
    values: { monitoring: { prometheusRule: { runbook: "*wiki" } } },
    message: /\/monitoring\/prometheusRule\/runbook.*does not match/s,
  },
  { name: "all namespaces and one more", values: { watchNamespaces: ["*", "team-a"] }, message: /watchNamespaces is either/ },
];

test.for(cases)("$name is rejected with a message", async ({ values, message }) => {
  await expect(render(helm(), { ...EXTERNAL_DATABASE, ...values })).rejects.toThrow(message);
});

test("helm lint rejects whatever helm install rejects", async () => {
  const chart = new URL("../../charts/model-gateway", import.meta.url).pathname;
  const linting = helm().helm(["lint", "--strict", chart, "--values", "-"], {
    input: stringify({ ...EXTERNAL_DATABASE, unknown: 1 }),
  });
  await expect(linting).rejects.toThrow("1 chart(s) failed");
});
