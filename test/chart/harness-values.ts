import { inject } from "vitest";
import { EXTERNAL_DATABASE, type Values } from "./harness-render.ts";

const POSTGRES = { postgres: { enabled: true } };
const PODS = {
  podAnnotations: { "example.org/a": "b" },
  podLabels: { team: "platform" },
  nodeSelector: { pool: "gateway" },
  tolerations: [{ key: "gateway", operator: "Exists", effect: "NoSchedule" }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "pool", operator: "In", values: ["gateway"] }] }],
      },
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { a: "b" } } },
  ],
  priorityClassName: "system-cluster-critical",
};
const FILES = {
  extraVolumes: [{ name: "more", configMap: { name: "more" } }],
  extraVolumeMounts: [{ name: "more", mountPath: "/etc/more", readOnly: true }],
};
const ANNOTATED = { "example.org/identity": "gateway" };
const DIGEST = `sha256:${"0".repeat(64)}`;

/** Installations that an administrator may ask for: each must be what the API server accepts. */
export const MATRIX: readonly { name: string; values: Values }[] = [
  { name: "an external Postgres", values: EXTERNAL_DATABASE },
  { name: "a Postgres for trials", values: POSTGRES },
  {
    name: "Secrets of the administrator's own, and TLS to Postgres",
    values: {
      database: { existingSecret: "ledger-app", key: "fqdn-uri", tls: { mode: "verify-full", caSecret: "ledger-ca" } },
      migration: { existingSecret: "ledger-owner" },
      pepper: { existingSecret: "pepper", key: "value" },
      providerKeys: { enabled: true, existingSecret: "provider-keys", key: "value", maxClusters: 50 },
    },
  },
  {
    name: "three namespaces, and provider keys",
    values: { ...POSTGRES, watchNamespaces: ["team-a", "team-b", "gateway-system"], providerKeys: { enabled: true } },
  },
  { name: "every namespace", values: { ...POSTGRES, watchNamespaces: ["*"] } },
  { name: "a certificate from a Secret", values: { ...POSTGRES, tls: { enabled: true, existingSecret: "certificate" } } },
  {
    name: "a certificate from cert-manager, and a Gateway before it",
    values: {
      ...POSTGRES,
      publicBaseUrl: "https://gateway.example",
      tls: { enabled: true, certManager: { enabled: true, issuerRef: { name: "public" }, dnsNames: ["gateway.example"] } },
      httpRoute: {
        enabled: true,
        parentRefs: [{ name: "edge", namespace: "edge" }],
        hostnames: ["gateway.example"],
        annotations: { a: "b" },
      },
    },
  },
  {
    name: "certificates between its parts from Secrets",
    values: {
      ...POSTGRES,
      internalTls: { existingSecrets: { gateway: "envoy", operator: "operator", dashboard: "dashboard" } },
    },
  },
  {
    name: "an Ingress before it",
    values: {
      ...POSTGRES,
      ingress: {
        enabled: true,
        className: "nginx",
        annotations: { "example.org/timeout": "3600" },
        hosts: ["gateway.example"],
        tls: [{ hosts: ["gateway.example"], secretName: "certificate" }],
      },
    },
  },
  {
    name: "a load balancer",
    values: {
      ...POSTGRES,
      gateway: {
        service: {
          type: "LoadBalancer",
          port: 8443,
          annotations: { a: "b" },
          loadBalancerClass: "example.org/fast",
          loadBalancerSourceRanges: ["192.0.2.0/24"],
          externalTrafficPolicy: "Local",
        },
      },
    },
  },
  {
    name: "everything that watches it",
    values: {
      ...POSTGRES,
      dashboard: { enabled: true },
      monitoring: {
        podMonitor: { enabled: true, labels: { release: "prometheus" } },
        prometheusRule: { enabled: true, labels: { release: "prometheus" } },
        dashboards: { enabled: true, annotations: { folder: "gateway" } },
      },
      tracing: { enabled: true, host: "collector.observability.svc", percent: 0.5 },
    },
  },
  {
    name: "everything of a platform's own",
    values: {
      ...POSTGRES,
      global: { imageRegistry: "mirror.example/hub", imagePullSecrets: [{ name: "mirror" }], others: { region: "eu" } },
      commonLabels: { "example.org/cost-centre": "llm" },
      extraObjects: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "{{ .Release.Name }}-more", namespace: "{{ .Release.Namespace }}" },
          data: { address: '{{ include "model-gateway.baseUrl" . }}' },
        },
      ],
      trustedCa: { configMap: "company-roots", key: "bundle.pem" },
      openshift: { enabled: true },
      migration: { ...FILES, serviceAccount: { annotations: ANNOTATED } },
      gateway: {
        extraVolumes: FILES.extraVolumes,
        envoy: { extraVolumeMounts: FILES.extraVolumeMounts },
        extproc: { extraVolumeMounts: FILES.extraVolumeMounts },
        serviceAccount: { annotations: ANNOTATED },
        autoscaling: {
          targetCpuPercent: 0,
          targetOpenStreams: 500,
          metrics: [
            {
              type: "Resource",
              resource: { name: "memory", target: { type: "Utilization", averageUtilization: 80 } },
            },
          ],
          behavior: { scaleUp: { stabilizationWindowSeconds: 30 } },
        },
      },
      operator: { ...FILES, serviceAccount: { name: "gateway-operator", annotations: ANNOTATED } },
      dashboard: { ...FILES, serviceAccount: { create: false, name: "pages" } },
      monitoring: { serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "15s" } },
    },
  },
  {
    name: "everything that can be left out left out",
    values: {
      ...EXTERNAL_DATABASE,
      crds: { enabled: false },
      accountPolicy: { enabled: false },
      admissionWarnings: { enabled: false },
      rbac: { aggregate: false },
      networkPolicy: { enabled: false },
      gateway: { autoscaling: { enabled: false }, podDisruptionBudget: { enabled: false }, journal: { persistent: false } },
      operator: { podDisruptionBudget: { enabled: false } },
      dashboard: { enabled: false, signUp: "closed" },
    },
  },
  {
    name: "every setting of pods, images and storage",
    values: {
      ...POSTGRES,
      fullnameOverride: "llm",
      image: { repository: "images.example/gateway", digest: DIGEST, pullPolicy: "Always" },
      imagePullSecrets: [{ name: "pull" }],
      bindAddress: "::",
      networkPolicy: { clients: [{ ipBlock: { cidr: "192.0.2.0/24" } }], metricsFrom: [] },
      test: { keySecret: "my-key" },
      gateway: {
        ...PODS,
        service: { ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv4"] },
        journal: { className: "fast" },
        envoy: { image: { digest: DIGEST } },
        extproc: { usageRetentionDays: 90, extraEnv: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=1500" }] },
      },
      operator: {
        ...PODS,
        backends: {
          allowPrivateAddresses: true,
          allowNamespaces: ["inference"],
          allowCidrs: ["10.0.0.0/8", "fd00::/8"],
          google: { enabled: true, hosts: ["vertex.example"] },
        },
        extraEnv: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=400" }],
      },
      dashboard: {
        ...PODS,
        enabled: true,
        settingsSecret: "dashboard",
        signUpDomains: ["example.com", "example.org"],
        webhookNetworks: "any",
        mail: { from: "Gateway <gateway@example.com>" },
        oidc: { issuer: "https://id.example", clientId: "gateway", name: "Example", secondFactor: "provider" },
        google: { clientId: "gateway" },
        github: { clientId: "gateway", url: "https://github.example" },
        providerDomains: { "example.com": "oidc", "example.org": "google" },
        seller: { name: "Gateway Betriebs GmbH", address: ["Beispielstraße 1", "10115 Berlin"], taxId: "DE999999999" },
        supportContact: "help@example.com",
      },
      postgres: { enabled: true, storage: { className: "fast" }, image: { digest: DIGEST } },
    },
  },
];

/** Each of them sets much at once, and together they use most of what the others set one by one. */
const BROADEST = [
  "an external Postgres",
  "a certificate from cert-manager, and a Gateway before it",
  "everything that watches it",
  "everything of a platform's own",
  "everything that can be left out left out",
  "every setting of pods, images and storage",
];

/** The broadest by day, all at night. */
export const chosenOfMatrix = () => (inject("isNight") ? MATRIX : MATRIX.filter(({ name }) => BROADEST.includes(name)));
