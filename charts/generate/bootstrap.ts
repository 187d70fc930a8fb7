import { stringify } from "yaml";
import { MAX_REQUEST_BYTES, attemptPath } from "../../contract/headers.ts";
import { buildBootstrap, quarterOfHeap, XDS_CLUSTER } from "../../operator/bootstrap/bootstrap.ts";
import { clientTlsSecret, type ClientTls } from "../../operator/bootstrap/tls/client.ts";
import { BATCH_PATHS, DASHBOARD_CLUSTER, INSTALLER_PATHS } from "../../operator/bootstrap/routes/dashboard.ts";
import { MAX_EXTPROC_STREAMS } from "../../operator/bootstrap/extproc-cluster.ts";
import { EXTPROC_FILTER } from "../../operator/bootstrap/filters/extproc.ts";
import { internalTlsSecrets, type InternalTls } from "../../operator/bootstrap/tls/internal.ts";
import { TRACES_CLUSTER } from "../../operator/bootstrap/filters/tracing.ts";
import { PLAIN_HTTP } from "../../operator/bootstrap/listeners/plain-http.ts";

/** The pod's mount path for TLS files. */
export const CLIENT_TLS: ClientTls = {
  secretFile: "/etc/envoy/client-tls.yaml",
  certificateDirectory: "/etc/client-tls",
};

export const INTERNAL_TLS: InternalTls = {
  certificateFile: "/etc/envoy/internal-certificate.yaml",
  authorityFile: "/etc/envoy/internal-authority.yaml",
  directory: "/etc/internal-tls",
};

/** The ports that the pod's containers open. */
const PORTS = {
  clients: 8080,
  xds: 9004,
  dashboard: 8090,
  envoyAdmin: 9901,
  envoyStatus: 9902,
  earlyAnswers: 9903,
  batches: 9904,
} as const;

const LOOPBACK = "127.0.0.1";

/** Values of an installation: a placeholder until the text is written (a number where Envoy requires one), and its expression. */
const BIND_ADDRESS = { standIn: "BIND_ADDRESS", expression: "{{ .Values.bindAddress | quote }}" } as const;
const OPERATOR_HOST = { standIn: "OPERATOR_HOST", expression: '{{ include "model-gateway.operator.host" . }}' } as const;
const DASHBOARD_HOST = {
  standIn: "DASHBOARD_HOST",
  expression: '{{ include "model-gateway.fullname" . }}-dashboard.{{ .Release.Namespace }}.svc',
} as const;
const NODE_ID = { standIn: "NODE_ID", expression: '{{ include "model-gateway.fullname" . }}-gateway' } as const;
const MAX_CONNECTIONS = { standIn: 770_000_001, expression: "{{ int64 .Values.gateway.envoy.maxConnections }}" } as const;
const TRACES_HOST = { standIn: "TRACES_HOST", expression: "{{ .Values.tracing.host }}" } as const;
const TRACES_PORT = { standIn: 17_001, expression: "{{ int .Values.tracing.port }}" } as const;
const TRACES_PERCENT = { standIn: 770_000_003, expression: "{{ .Values.tracing.percent }}" } as const;
/** extproc's workers: as many as configured, each on the next port. The first two stand for all. */
const WORKERS = '(int (include "model-gateway.extproc.workers" .))';
const FIRST_WORKER = { standIn: 17_002, expression: "{{ add 9010 $worker }}" } as const;
const FURTHER_WORKER = { standIn: 17_003 } as const;
const MAX_EXTPROC = { standIn: 770_000_004, expression: `{{ mul ${MAX_EXTPROC_STREAMS} ${WORKERS} }}` } as const;
const MAX_HEAP = { standIn: 770_000_002, expression: "{{ int64 .Values.gateway.envoy.maxHeapBytes }}" } as const;

const QUARTER_OF_HEAP = {
  standIn: quarterOfHeap(MAX_HEAP.standIn),
  expression: "{{ div (int64 .Values.gateway.envoy.maxHeapBytes) 4 }}",
} as const;

/** Conditional keys of the bootstrap. */
const CONDITIONS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["transport_socket", "listener_filters", "filter_chain_match"].map((key) => [key, ".Values.tls.enabled"]),
  ),
  ipv4_compat: 'eq .Values.bindAddress "::"',
  tracing: ".Values.tracing.enabled",
  load_balancing_policy: `gt ${WORKERS} 1`,
};
/** Conditional keys within an item of a list, by the item's name. */
const CONDITIONS_WITHIN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // The release's own parts always use TLS between each other.
  ...Object.fromEntries([XDS_CLUSTER, DASHBOARD_CLUSTER].map((name) => [name, without(CONDITIONS, "transport_socket")])),
  [EXTPROC_FILTER]: { ...CONDITIONS, retry_policy: `gt ${WORKERS} 1` },
};
/** Conditional items of lists, by name. */
const ITEM_CONDITIONS: Readonly<Record<string, string>> = {
  [TRACES_CLUSTER]: ".Values.tracing.enabled",
  "front door": ".Values.dashboard.enabled",
  dashboard: ".Values.dashboard.enabled",
  "management API": ".Values.dashboard.enabled",
  ...Object.fromEntries([...BATCH_PATHS, ...INSTALLER_PATHS].map((path) => [path.slice(1), ".Values.dashboard.enabled"])),
  [PLAIN_HTTP]: ".Values.tls.enabled",
};

/**
 * Envoy's bootstrap as a Helm template: the one that `buildBootstrap` gives every Envoy, readable in the chart's ConfigMap, with
 * an expression for each value that an installation sets.
 */
export function bootstrapTemplate(): string {
  const bootstrap = buildBootstrap({
    nodeId: NODE_ID.standIn,
    listen: { host: BIND_ADDRESS.standIn, port: PORTS.clients },
    extproc: [FIRST_WORKER, FURTHER_WORKER].map(({ standIn }) => ({ host: LOOPBACK, port: standIn })),
    maxExtprocStreams: MAX_EXTPROC.standIn,
    xds: { host: OPERATOR_HOST.standIn, port: PORTS.xds },
    dashboard: { host: DASHBOARD_HOST.standIn, port: PORTS.dashboard },
    admin: { host: LOOPBACK, port: PORTS.envoyAdmin },
    earlyAnswers: { host: LOOPBACK, port: PORTS.earlyAnswers },
    batches: { host: LOOPBACK, port: PORTS.batches },
    status: { host: BIND_ADDRESS.standIn, port: PORTS.envoyStatus },
    clientTls: CLIENT_TLS,
    internalTls: INTERNAL_TLS,
    traces: { host: TRACES_HOST.standIn, port: TRACES_PORT.standIn, percent: TRACES_PERCENT.standIn },
    maxRequestBytes: MAX_REQUEST_BYTES,
    maxConnections: MAX_CONNECTIONS.standIn,
    maxHeapBytes: MAX_HEAP.standIn,
  });
  const text = shareBlocks(encode(withConditions(bootstrap)))
    .replaceAll(/^ *(?:- )?IF (.*?)(?: OF \w+)?(?:: null)?$/gm, "{{- if $1 }}")
    .replaceAll(/^ *(?:- )?EACH WORKER IF (.*)$/gm, `{{- range $worker := ternary (until ${WORKERS}) list ($1) }}`)
    .replaceAll(/^ *(?:- )?EACH WORKER$/gm, `{{- range $worker := until ${WORKERS} }}`)
    .replaceAll(/^ *(?:- )?END .*$/gm, "{{- end }}")
    .replaceAll("name: worker-0", "name: worker-{{ $worker }}")
    .replaceAll(`path: ${attemptPath(0)}\n`, "path: /{{ $worker }}\n");
  return [
    BIND_ADDRESS,
    OPERATOR_HOST,
    DASHBOARD_HOST,
    NODE_ID,
    MAX_CONNECTIONS,
    MAX_HEAP,
    QUARTER_OF_HEAP,
    MAX_EXTPROC,
    FIRST_WORKER,
    TRACES_HOST,
    TRACES_PORT,
    TRACES_PERCENT,
  ].reduce((written, { standIn, expression }) => written.replaceAll(String(standIn), expression), text);
}

/** The file that tells Envoy where its certificate for clients is. */
export function clientTlsFile(): string {
  return encode(clientTlsSecret(CLIENT_TLS));
}

/** The files that tell Envoy where its own certificate and the gateway's internal authority are. */
export function internalTlsFiles(): { certificate: string; authority: string } {
  const { certificate, authority } = internalTlsSecrets(INTERNAL_TLS);
  return { certificate: encode(certificate), authority: encode(authority) };
}

function without<V>(conditions: Readonly<Record<string, V>>, key: string): Readonly<Record<string, V>> {
  return Object.fromEntries(Object.entries(conditions).filter(([name]) => name !== key));
}

/**
 * Puts a key or an item before and after each conditional one, which become lines of the template. Keys of one object differ by
 * `OF`.
 */
function withConditions(value: unknown, conditions = CONDITIONS): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const worker = workerOf(item);
      // Only several workers need separate routes.
      if (worker !== undefined)
        return worker.isFirst ? [worker.isRoute ? `EACH WORKER IF gt ${WORKERS} 1` : "EACH WORKER", item, "END EACH WORKER"] : [];
      const condition = ITEM_CONDITIONS[nameOf(item)];
      const content = withConditions(item, CONDITIONS_WITHIN[nameOf(item)] ?? conditions);
      return condition === undefined ? [content] : [`IF ${condition}`, content, `END ${condition}`];
    });
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, content]): [string, unknown][] => {
      const condition = conditions[key];
      const entry: [string, unknown] = [key, withConditions(content, conditions)];
      return condition === undefined
        ? [entry]
        : [[`IF ${condition} OF ${key}`, null], entry, [`END ${condition} OF ${key}`, null]];
    }),
  );
}

/** What the ports for clients and for batches have in common, and most of the text. */
const SHARED_BLOCK = /^( *)(http_filters|route_config|local_reply_config):\n((?:\1(?: |- ).*\n|\n)+)/gm;

/** Writes a block once: `kubectl apply` cannot keep a ConfigMap of more than 256 KiB. */
function shareBlocks(text: string): string {
  const blocks = [...text.matchAll(SHARED_BLOCK)].map(([block]) => block);
  const repeated = new Set(blocks.filter((block, at) => blocks.indexOf(block) < at));
  const names = new Map<string, string>();
  return text.replaceAll(SHARED_BLOCK, (block: string, indent: string, key: string, content: string) => {
    if (!repeated.has(block)) return block;
    const written = names.get(block);
    if (written !== undefined) return `${indent}${key}: *${written}\n`;
    const name = `${key}_${names.size}`;
    names.set(block, name);
    return `${indent}${key}: &${name}\n${content}`;
  });
}

/** Whether it exists once for each worker of extproc. */
function workerOf(item: unknown): { isFirst: boolean; isRoute: boolean } | undefined {
  const isRoute = nameOf(item).startsWith("worker-");
  const isEndpoint = typeof item === "object" && item !== null && "endpoint" in item;
  if (!isRoute && !isEndpoint) return undefined;
  const text = JSON.stringify(item);
  const isFirst = text.includes(String(FIRST_WORKER.standIn));
  return isFirst || text.includes(String(FURTHER_WORKER.standIn)) ? { isFirst, isRoute } : undefined;
}

function nameOf(item: unknown): string {
  return typeof item === "object" && item !== null && "name" in item && typeof item.name === "string" ? item.name : "";
}

function encode(config: unknown): string {
  return stringify(config, { lineWidth: 0, indentSeq: false, aliasDuplicateObjects: false });
}
