import path from "node:path";
import { eventually } from "../eventually.ts";
import type { KubeTools } from "../kube/tools.ts";
import { NODE_ADDRESS, SERVICE_NETWORK } from "./addresses.ts";
import type { Room } from "./room.ts";
import type { NodeTools } from "./tools.ts";

const READY_WITHIN_MS = 120_000;
export const API_SERVER = "kube-apiserver";
const ETCD = "http://127.0.0.1:2379";

export interface ControlPlaneOptions {
  room: Omit<Room, "close">;
  directory: string;
  credentials: string;
  tools: KubeTools & NodeTools;
}

/** etcd, the API server, the controllers and the scheduler. */
export async function startControlPlane({ room, directory, credentials, tools }: ControlPlaneOptions): Promise<void> {
  const file = (name: string) => path.join(credentials, name);
  await room.start("etcd", [
    tools.etcd,
    `--data-dir=${path.join(directory, "etcd")}`,
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    "--listen-peer-urls=http://127.0.0.1:2380",
    "--unsafe-no-fsync",
    "--log-level=warn",
  ]);
  await startApiServer({ room, credentials, tools });
  await room.start("kube-controller-manager", [
    tools.controllerManager,
    `--kubeconfig=${file("controller-manager.kubeconfig")}`,
    `--service-account-private-key-file=${file("accounts.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
    "--use-service-account-credentials",
    "--leader-elect=false",
    "--allocate-node-cidrs=false",
    "--bind-address=127.0.0.1",
    `--flex-volume-plugin-dir=${path.join(directory, "plugins")}`,
  ]);
  await room.start("kube-scheduler", [
    tools.scheduler,
    `--kubeconfig=${file("scheduler.kubeconfig")}`,
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
  ]);
}

/** Starts it, also after it was killed, and waits until it is ready. */
export async function startApiServer({ room, credentials, tools }: Omit<ControlPlaneOptions, "directory">): Promise<void> {
  const file = (name: string) => path.join(credentials, name);
  await room.start(API_SERVER, apiServer(tools.apiServer, file));
  const kubectl = [tools.kubectl, `--kubeconfig=${file("admin.kubeconfig")}`];
  await eventually(() => room.run([...kubectl, "get", "--raw", "/readyz"]), { withinMs: READY_WITHIN_MS, everyMs: 250 });
}

function apiServer(program: string, file: (name: string) => string): string[] {
  return [
    program,
    `--etcd-servers=${ETCD}`,
    `--advertise-address=${NODE_ADDRESS}`,
    `--tls-cert-file=${file("server.crt")}`,
    `--tls-private-key-file=${file("server.key")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("accounts.pub")}`,
    `--service-account-signing-key-file=${file("accounts.key")}`,
    // OpenShift has the second: who sets blockOwnerDeletion needs the right to the owner's finalizers.
    "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
    // For requests-policy.ts.
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    `--service-cluster-ip-range=${SERVICE_NETWORK}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--allow-privileged",
    "--profiling=false",
  ];
}
