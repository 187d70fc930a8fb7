import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { eventually } from "../eventually.ts";
import { findKubeTools } from "../kube/tools.ts";
import { NODE, NODE_ADDRESS, SIMULATOR_PORT } from "./addresses.ts";
import { makeCgroup, removeCgroup } from "./cgroup.ts";
import { startContainerd } from "./containerd.ts";
import { API_SERVER, startApiServer, startControlPlane } from "./control-plane.ts";
import { writeCredentials } from "./credentials.ts";
import type { Prepared } from "./images/prepare.ts";
import { startNode } from "./node.ts";
import { postgresObjects } from "./postgres.ts";
import { requestsPolicy } from "./requests-policy.ts";
import { openRoom, type Room } from "./room.ts";
import { findNodeTools } from "./tools.ts";

/** What tests know of a running cluster. */
export interface ClusterFacts {
  /** Its files; each program's log is in `logs`. */
  directory: string;
  /** Of the first process in its namespaces. */
  pid: number;
  kubectl: string;
  helm: string;
  kubeconfig: string;
  /** The socket that leads to addresses in its network (inside/relay.ts). */
  relay: string;
}

export interface RunningCluster {
  facts: ClusterFacts;
  apiServer: {
    /** With SIGKILL. */
    kill(): Promise<void>;
    /** Waits until it is ready. */
    start(): Promise<void>;
  };
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 180_000;
/** Each release takes two for its journals. */
const VOLUMES = 48;

export interface StartClusterOptions extends Prepared {
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
  /** Without what several releases share: the definitions of Model and ApiKey, and a Postgres. */
  isBare?: boolean;
}

/** A cluster of one node, in network, mounts and process ids of its own; all goes when this process does. */
export async function startCluster({
  images,
  directory,
  isBare = false,
  ...options
}: StartClusterOptions): Promise<RunningCluster> {
  const tools = { ...(await findKubeTools(options)), ...(await findNodeTools(options)) };
  const cgroup = await makeCgroup(directory);
  let opened: Room | undefined;
  async function stop(): Promise<void> {
    await opened?.close();
    await removeCgroup(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  try {
    const room = await openRoom(directory, NODE_ADDRESS);
    opened = room;
    const credentials = await writeCredentials(directory);
    const [containerd] = await Promise.all([
      startContainerd(room, { directory, root: path.join(directory, "images"), pause: images.pause }),
      startControlPlane({ room, directory, credentials, tools }),
    ]);
    await startNode({ room, directory, credentials, tools, containerd, cgroup });
    const shared = isBare ? [] : [...(await definitions()), ...postgresObjects(images.postgres)];
    const facts = await furnish({ room, directory, credentials, kubectl: tools.kubectl, helm: tools.helm, shared });
    const apiServer = { kill: () => room.kill(API_SERVER), start: () => startApiServer({ room, credentials, tools }) };
    return { facts, apiServer, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface FurnishOptions {
  room: Room;
  directory: string;
  credentials: string;
  kubectl: string;
  helm: string;
  /** Objects that several releases share. */
  shared: readonly object[];
}

/** Names, volumes, a model server and a way in; then waits until the node takes pods. */
async function furnish({ room, directory, credentials, kubectl, helm, shared }: FurnishOptions): Promise<ClusterFacts> {
  const relay = path.join(directory, "relay.sock");
  const kubeconfig = path.join(credentials, "admin.kubeconfig");
  await room.start("surroundings", [process.execPath, path.join(import.meta.dirname, "inside/main.ts"), credentials, relay]);
  await room.start("simulator", [process.execPath, "local/simulator/main.ts"], {
    SIMULATOR_HOST: NODE_ADDRESS,
    SIMULATOR_PORT: String(SIMULATOR_PORT),
  });
  const run = (words: readonly string[], input?: string) =>
    room.run([kubectl, `--kubeconfig=${kubeconfig}`, ...words], input === undefined ? {} : { input });
  const objects = [...requestsPolicy(), ...shared, ...(await volumes(directory)), ...simulatorObjects()];
  await run(["apply", "--filename", "-"], objects.map((each) => stringify(each)).join("---\n"));
  await eventually(() => run(["wait", "--for=condition=Ready", `node/${NODE}`, "--timeout=10s"]), { withinMs: READY_WITHIN_MS });
  return { directory, pid: room.pid, kubectl, helm, kubeconfig, relay };
}

const definitionSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).default({}) }),
});

/**
 * Releases share the definitions, and test files come in any order: they are here from the start, marked so that the release
 * of the guide takes them for its own. That a release brings them along is tested in the project `chart`.
 */
async function definitions(): Promise<object[]> {
  const labels = { "app.kubernetes.io/managed-by": "Helm" };
  const marks = { "meta.helm.sh/release-name": "gateway", "meta.helm.sh/release-namespace": "gateway-system" };
  return await Promise.all(
    ["models", "apikeys"].map(async (name) => {
      const file = path.join(import.meta.dirname, `../../../crds/${name}.yaml`);
      const object = definitionSchema.parse(parse(await readFile(file, "utf8")));
      const annotations = { ...object.metadata.annotations, "helm.sh/resource-policy": "keep", ...marks };
      return { ...object, metadata: { ...object.metadata, labels, annotations } };
    }),
  );
}

/** Local volumes heed fsGroup, as a cloud's disks do, which hostPath does not. */
async function volumes(directory: string): Promise<object[]> {
  const storageClass = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "local", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  };
  const terms = [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [NODE] }] }];
  const objects: object[] = [storageClass];
  for (let i = 0; i < VOLUMES; i++) {
    const folder = path.join(directory, `volumes/${i}`);
    await mkdir(folder, { recursive: true });
    const spec = {
      capacity: { storage: "10Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "local",
      local: { path: folder },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    };
    objects.push({ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: `volume-${i}` }, spec });
  }
  return objects;
}

/** A Service without pods: the simulated model server runs on the node. */
function simulatorObjects(): object[] {
  const metadata = { name: "simulator", namespace: "inference" };
  const ports = [{ port: SIMULATOR_PORT }];
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: metadata.namespace } },
    { apiVersion: "v1", kind: "Service", metadata, spec: { ports } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": metadata.name } },
      addressType: "IPv4",
      ports,
      endpoints: [{ addresses: [NODE_ADDRESS] }],
    },
  ];
}
