import { getCACertificates } from "node:tls";
import * as z from "zod";
import { DATABASE_VARIABLES, databaseUrl } from "../ledger/postgres/database-url.ts";
import { cidrsVariable } from "../runtime/address/cidr.ts";
import { orExit, portVariable, readEnvOrExit } from "../runtime/env.ts";
import { trustExtraRoots } from "../runtime/extra-roots.ts";
import { createLifecycle, exitOnSignals } from "../runtime/lifecycle.ts";
import { createCountedLog } from "../runtime/log.ts";
import { parseMetadataHost } from "./address/google.ts";
import { internalCertificatesVariable, type InternalTlsConfig } from "./internal-tls/config.ts";
import { startOperator, type OperatorConfig } from "./operator.ts";
import { providerKeysSecretVariable } from "./provider-keys/secret-variable.ts";
import { localUpstreamsSchema } from "./source/local-upstreams.ts";
import { HOUR_MS } from "../contract/days.ts";

/** By a comma. */
const namesVariable = z
  .string()
  .transform((text) => text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()])));

const metadataHostVariable = z.string().transform((text, context) => {
  const address = parseMetadataHost(text);
  if (address !== undefined) return address;
  context.addIssue({ code: "custom", message: "must be a host, or a host and a port, such as 169.254.169.254:80" });
  return z.NEVER;
});

const hoursVariable = z.coerce.number().positive();

const environment = readEnvOrExit(
  {
    ...DATABASE_VARIABLES,
    /** Source of Models: a folder of manifests on one machine, or the cluster of this Pod. */
    GATEWAY_SOURCE: z.enum(["folder", "kubernetes"]).default("folder"),
    GATEWAY_MANIFESTS: z.string().min(1).optional(),
    WATCH_NAMESPACES: namesVariable.default([]),
    /** Allowed locations of backends besides the public internet: operator/address/policy.ts. */
    BACKEND_ALLOW_PRIVATE: z.stringbool().default(false),
    BACKEND_ALLOW_CIDRS: cidrsVariable.default([]),
    BACKEND_ALLOW_NAMESPACES: namesVariable.default([]),
    /** Where tokens of this machine's or the pods' identity at Google come from, as `host` or `host:port`; off if absent. */
    GCE_METADATA_HOST: metadataHostVariable.optional(),
    /** Servers besides Vertex AI that may get them. */
    BACKEND_GOOGLE_HOSTS: namesVariable.default([]),
    POD_NAME: z.string().default(""),
    POD_NAMESPACE: z.string().default(""),
    LEASE_NAME: z.string().min(1).default("model-gateway-operator"),
    KEY_PEPPER: z.base64().min(44, "must be at least 32 random bytes in base64").optional(),
    /** Opens accounts' provider keys: 32 random bytes in base64, several separated by commas. None are taken if absent. */
    PROVIDER_KEYS_SECRET: providerKeysSecretVariable.optional(),
    PROVIDER_KEYS_MAX_CLUSTERS: z.coerce.number().int().min(0).max(10_000).default(200),
    KUBE_PATH_PREFIX: z.string().default(""),
    /** A Unix socket for Envoys on this machine; replaces XDS_HOST, XDS_PORT and XDS_TLS_DIRECTORY. */
    XDS_SOCKET: z.string().min(1).optional(),
    XDS_HOST: z.string().default("127.0.0.1"),
    XDS_PORT: portVariable.default(9004),
    /** With ca.crt, tls.crt and tls.key: Envoys need a certificate from that authority. */
    XDS_TLS_DIRECTORY: z.string().min(1).optional(),
    /** Certificates from the release's own authority that this operator renews, `use:secret:host` separated by commas. */
    INTERNAL_AUTHORITY_SECRET: z.string().min(1).optional(),
    INTERNAL_CERTIFICATES: internalCertificatesVariable.optional(),
    INTERNAL_CERTIFICATE_HOURS: hoursVariable.default(2160),
    INTERNAL_CERTIFICATE_RENEW_HOURS: hoursVariable.default(720),
    ADMIN_HOST: z.string().default("127.0.0.1"),
    ADMIN_PORT: portVariable.default(9005),
    LOG_LEVEL: z.string().default("info"),
    GATEWAY_LOCAL_UPSTREAMS: z
      .string()
      .default("{}")
      .transform((text, context): unknown => {
        try {
          return JSON.parse(text);
        } catch {
          // The parser's own messages quote the text, which may contain a key.
          context.addIssue({ code: "custom", message: "must be JSON" });
          return z.NEVER;
        }
      })
      .pipe(localUpstreamsSchema),
  },
  process.env,
);
const counted = createCountedLog({ process: "operator", level: environment.LOG_LEVEL });
const lifecycle = createLifecycle(counted.log);
exitOnSignals(lifecycle);
const added = new Set(getCACertificates("extra"));
const publicRoots = getCACertificates("default").filter((pem) => !added.has(pem));
const extraRoots = trustExtraRoots(process.env);

await startOperator(
  {
    databaseUrl: databaseUrl(environment),
    source: orExit(readSource),
    xds: orExit(readDiscovery),
    admin: { host: environment.ADMIN_HOST, port: environment.ADMIN_PORT },
    pepper: environment.KEY_PEPPER === undefined ? undefined : Buffer.from(environment.KEY_PEPPER, "base64"),
    providerKeys: orExit(readProviderKeys),
    // Node's own list: the same on every machine, whatever Envoy's image contains.
    roots: { pem: publicRoots.join("\n"), extra: extraRoots },
    backends: {
      allowPrivate: environment.BACKEND_ALLOW_PRIVATE,
      allowCidrs: environment.BACKEND_ALLOW_CIDRS,
      allowNamespaces: environment.BACKEND_ALLOW_NAMESPACES,
      google:
        environment.GCE_METADATA_HOST === undefined
          ? null
          : { metadata: environment.GCE_METADATA_HOST, hosts: environment.BACKEND_GOOGLE_HOSTS },
    },
  },
  { ...counted, lifecycle },
);

/** @throws Error that names the missing variable: without either, anyone who reaches the port would get credentials. */
function readDiscovery(): OperatorConfig["xds"] {
  const { XDS_SOCKET: path, XDS_TLS_DIRECTORY: tlsDirectory, XDS_HOST: host, XDS_PORT: port } = environment;
  if (path !== undefined) return { path };
  if (tlsDirectory !== undefined) return { host, port, tlsDirectory };
  throw new Error(
    "Invalid environment: XDS_TLS_DIRECTORY: set it to a directory with ca.crt, tls.crt and tls.key, or set XDS_SOCKET: discovery serves credentials, so it is never offered over plain TCP.",
  );
}

/** @throws Error that names the missing variable: the public key is published with a proof that it is the operator's. */
function readProviderKeys(): OperatorConfig["providerKeys"] {
  const { PROVIDER_KEYS_SECRET: boxKeys, PROVIDER_KEYS_MAX_CLUSTERS: maxClusters, KEY_PEPPER } = environment;
  if (boxKeys === undefined) return undefined;
  if (KEY_PEPPER === undefined) throw new Error("Invalid environment: KEY_PEPPER: required with PROVIDER_KEYS_SECRET.");
  return { boxKeys, maxClusters };
}

/** @throws Error that names the missing or superfluous variable. */
function readSource(): OperatorConfig["source"] {
  const { GATEWAY_MANIFESTS: manifests, GATEWAY_LOCAL_UPSTREAMS: localUpstreams, POD_NAMESPACE, KEY_PEPPER } = environment;
  if (environment.GATEWAY_SOURCE === "folder") {
    if (manifests === undefined) throw new Error("Invalid environment: GATEWAY_MANIFESTS: set it to a folder of manifests.");
    return { kind: "folder", manifests, localUpstreams };
  }
  if (manifests !== undefined)
    throw new Error("Invalid environment: GATEWAY_MANIFESTS: cannot be combined with GATEWAY_SOURCE=kubernetes.");
  if (KEY_PEPPER === undefined) throw new Error("Invalid environment: KEY_PEPPER: required with GATEWAY_SOURCE=kubernetes.");
  if (POD_NAMESPACE === "") throw new Error("Invalid environment: POD_NAMESPACE: required with GATEWAY_SOURCE=kubernetes.");
  return {
    kind: "kubernetes",
    namespaces: environment.WATCH_NAMESPACES.length === 0 ? null : environment.WATCH_NAMESPACES,
    pod: { namespace: POD_NAMESPACE, name: environment.POD_NAME },
    leaseName: environment.LEASE_NAME,
    pathPrefix: environment.KUBE_PATH_PREFIX,
    pepper: Buffer.from(KEY_PEPPER, "base64"),
    internalTls: readInternalTls(),
  };
}

function readInternalTls(): InternalTlsConfig | undefined {
  const { INTERNAL_AUTHORITY_SECRET: authoritySecret, INTERNAL_CERTIFICATES: certificates } = environment;
  if (authoritySecret === undefined || certificates === undefined) return undefined;
  return {
    authoritySecret,
    certificates,
    lifetimeMs: environment.INTERNAL_CERTIFICATE_HOURS * HOUR_MS,
    renewBeforeMs: environment.INTERNAL_CERTIFICATE_RENEW_HOURS * HOUR_MS,
  };
}
