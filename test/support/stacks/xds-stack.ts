import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerCredentials } from "@grpc/grpc-js";
import { freePort } from "../../../local/process/ports.ts";
import { buildBootstrap, type BootstrapOptions } from "../../../operator/bootstrap/bootstrap.ts";
import type { Endpoint } from "../../../operator/xds/endpoint.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { startXdsServer, type XdsServer } from "../../../operator/xds/serve.ts";
import { Registry } from "prom-client";
import { createOperatorEvents } from "../../../operator/events.ts";
import { createLog } from "../../../runtime/log.ts";
import { changeBootstrap, type BootstrapChange } from "./change-bootstrap.ts";
import { startEnvoyProcess, type EnvoyProcess } from "./envoy-process.ts";
import { startScriptedExtproc, type Script, type ScriptedExtproc } from "../servers/scripted-extproc.ts";

export interface XdsStack {
  readonly url: string;
  readonly envoy: EnvoyProcess;
  readonly extproc: ScriptedExtproc;
  readonly scripts: Map<string, Script>;
  /** The operator's side; replaced by `restartXds`. */
  xds: XdsServer;
  /** Stops the ADS server and starts another on its port, as a restarted operator would. */
  restartXds(): Promise<void>;
  /** Everything that the ADS server logged. */
  readonly logLines: string[];
  stop(): Promise<void>;
}

/**
 * The processor runs in the test's own process, which may be silent for seconds on a busy machine: Envoy would take it for a stuck
 * one, and answer 503.
 */
const PATIENT: readonly BootstrapChange[] = [
  { from: '"timeout":"2s","unhealthy_threshold":2', to: '"timeout":"60s","unhealthy_threshold":2' },
  {
    from: '"connection_keepalive":{"interval":"30s","timeout":"5s"}',
    to: '"connection_keepalive":{"interval":"30s","timeout":"60s"}',
  },
];

/** A real Envoy on the product's bootstrap, between a scripted processor and the operator's ADS server. */
export async function startXdsStack(
  overrides: Partial<BootstrapOptions> & {
    isReadyExpected?: boolean;
    xdsCredentials?: () => ServerCredentials;
    bootstrapChanges?: readonly BootstrapChange[];
  } = {},
): Promise<XdsStack> {
  const { isReadyExpected, xdsCredentials, bootstrapChanges = [], ...bootstrapOverrides } = overrides;
  const directory = await mkdtemp(join(tmpdir(), "gateway-xds-"));
  const scripts = new Map<string, Script>();
  const extproc = await startScriptedExtproc(scripts);
  const logLines: string[] = [];
  const log = createLog({ process: "operator", level: "info" }, { write: (line) => void logLines.push(line) });
  const events = createOperatorEvents({ log, metrics: new Registry() });
  const xdsSocket = join(directory, "sockets", "xds.sock");
  const startXds = (port: number) =>
    startXdsServer(
      xdsCredentials === undefined ? { path: xdsSocket } : { host: "127.0.0.1", port, credentials: xdsCredentials() },
      { events },
    );
  const xds = await startXds(0);
  const xdsPort = xds.port;
  if (isReadyExpected ?? true) xds.push(buildSnapshot({ clusters: new Map(), secrets: new Map() }));

  const ports = { listen: await freePort(), admin: await freePort() };
  const accessLogPath = join(directory, "access.log");
  const bootstrap = buildBootstrap({
    listen: { host: "127.0.0.1", port: ports.listen },
    extproc: [{ host: "127.0.0.1", port: extproc.port }],
    xds: xdsCredentials === undefined ? { path: xdsSocket } : { host: "127.0.0.1", port: xdsPort },
    admin: { host: "127.0.0.1", port: ports.admin },
    maxRequestBytes: 32 * 1024 * 1024,
    nodeId: "envoy-under-test",
    accessLogPath,
    ...bootstrapOverrides,
  });
  const changed = changeBootstrap(bootstrap, [...PATIENT, ...bootstrapChanges]);
  const envoy = await startEnvoyProcess({ bootstrap: changed, adminPort: ports.admin, accessLogPath, isReadyExpected });

  const stack: XdsStack = {
    url: `http://127.0.0.1:${ports.listen}`,
    envoy,
    extproc,
    scripts,
    xds,
    logLines,
    async restartXds() {
      await stack.xds.stop();
      stack.xds = await startXds(xdsPort);
    },
    async stop() {
      await envoy.stop();
      await stack.xds.stop();
      extproc.stop();
      await rm(directory, { recursive: true });
    },
  };
  return stack;
}

/** A plain HTTP server on the loopback, as a cluster's endpoint. */
export function loopbackEndpoint(port: number, overrides: Partial<Endpoint> = {}): Endpoint {
  return { host: "127.0.0.1", port, tls: null, credential: null, guard: null, connectTimeoutMs: 1_000, ...overrides };
}
