import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Child } from "../../../local/process/child.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";
import type { KubeApi } from "../kube/api.ts";
import { startInOwnNetwork } from "../own-network/own-network.ts";
import type { Address } from "../own-network/relay.ts";

const PICKER: GoTools = {
  name: "pool-tools",
  title: "the extension's endpoint picker",
  needers: "The tests with the extension's own endpoint picker",
  list: "the endpoint picker of the Gateway API Inference Extension",
  module: fileURLToPath(new URL("../../pool-tools", import.meta.url)),
  packages: ["sigs.k8s.io/gateway-api-inference-extension/cmd/epp"],
  flags: [],
  linked: {},
  renamed: {},
  programs: [["epp", "--help"]],
  minutes: 4,
  alternative: "",
};

/**
 * Path of the reference implementation of the Endpoint Picker Protocol, built from test/pool-tools/go.mod.
 * @throws MissingPrerequisite
 */
export async function findReferencePicker(options: FindGoToolsOptions): Promise<string> {
  return path.join(await findGoTools(PICKER, options), "epp");
}

export interface ReferencePicker extends Pick<Child, "logFile" | "ended" | "stop"> {
  /** Where Envoy asks it, with TLS and a certificate of its own making, as it comes. */
  readonly port: number;
}

export interface ReferencePickerOptions {
  program: string;
  namespace: string;
  pool: string;
  /** The address at which it is to be asked. */
  host: string;
  /** Address and port of each pod, whose metrics it reads. */
  pods: readonly Address[];
}

/**
 * Starts it for one pool, with the administrator's access and the settings that it comes with. It listens on all addresses, so it
 * has a network of its own, with relays to the API server and the pods, and from its address.
 */
export async function startReferencePicker(
  api: Pick<KubeApi, "kubeconfig" | "directory" | "port">,
  { program, namespace, pool, host, pods }: ReferencePickerOptions,
): Promise<ReferencePicker> {
  const [port, healthPort, metricsPort] = await freePorts(3);
  if (port === undefined) throw new Error("There is no free port.");
  const inside = await startInOwnNetwork({
    name: "epp",
    program,
    parameters: [
      `--pool-namespace=${namespace}`,
      `--pool-name=${pool}`,
      `--grpc-port=${port}`,
      `--grpc-health-port=${healthPort}`,
      `--metrics-port=${metricsPort}`,
      "--tracing=false",
    ],
    environment: { KUBECONFIG: api.kubeconfig },
    directory: api.directory,
    reaches: [{ host: LOOPBACK, port: api.port }, ...pods],
    serves: [{ inside: { host: LOOPBACK, port }, outside: { host, port } }],
  });
  return { port, ...inside };
}
