import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { get } from "node:https";
import path from "node:path";
import { startChild, type Child } from "../../../local/process/child.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { eventually } from "../eventually.ts";
import { makeCertificates } from "../servers/tls-certificates.ts";
import { SELDOM_COLLECTED, SERVER_STOP_STEPS, withLog } from "./server.ts";

/** Settings that all starts of the API server share. */
export interface ApiServerSettings {
  program: string;
  directory: string;
  port: number;
  etcdUrl: string;
  /** PEM of the authority that made the server's certificate. */
  ca: string;
  /** Of a member of system:masters. */
  adminToken: string;
}

const ISSUER = "https://kubernetes.default.svc";
const READY_WITHIN_MS = 90_000;

/** Writes certificates, keys and the administrator's token, and chooses a port. */
export async function prepareApiServer(
  given: Pick<ApiServerSettings, "program" | "directory" | "etcdUrl">,
): Promise<ApiServerSettings> {
  const { ca, certificate, key } = await makeCertificates("localhost", LOOPBACK);
  const serviceAccounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const adminToken = crypto.randomUUID();
  const files: Record<string, string> = {
    "ca.crt": ca,
    "server.crt": certificate,
    "server.key": key,
    "service-accounts.key": serviceAccounts.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    "service-accounts.pub": serviceAccounts.publicKey.export({ type: "spki", format: "pem" }).toString(),
    "tokens.csv": `${adminToken},admin,admin,system:masters\n`,
  };
  await Promise.all(
    Object.entries(files).map(([name, text]) => writeFile(path.join(given.directory, name), text, { mode: 0o600 })),
  );
  return { ...given, ca, adminToken, port: await freePort() };
}

/** Starts a kube-apiserver and waits until it is ready and has the namespace `default`. */
export async function startApiServer(settings: ApiServerSettings): Promise<Child> {
  const { program, directory, port, etcdUrl } = settings;
  const file = (name: string) => path.join(directory, name);
  const server = await startChild({
    name: "kube-apiserver",
    program,
    parameters: [
      `--etcd-servers=${etcdUrl}`,
      `--bind-address=${LOOPBACK}`,
      `--advertise-address=${LOOPBACK}`,
      `--secure-port=${port}`,
      `--cert-dir=${directory}`,
      `--tls-cert-file=${file("server.crt")}`,
      `--tls-private-key-file=${file("server.key")}`,
      `--token-auth-file=${file("tokens.csv")}`,
      "--authorization-mode=RBAC",
      `--service-account-issuer=${ISSUER}`,
      `--service-account-key-file=${file("service-accounts.pub")}`,
      `--service-account-signing-key-file=${file("service-accounts.key")}`,
      // Without controllers no namespace has a default ServiceAccount, which this one asks of every Pod.
      "--disable-admission-plugins=ServiceAccount",
      // OpenShift has it: who sets blockOwnerDeletion needs the right to the owner's finalizers.
      "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
      // Of this machine, so that a test can put a server where a Service says that it is.
      "--service-cluster-ip-range=127.8.0.0/24",
      // A Service cannot lead to a loopback address, and nothing here goes through one.
      "--endpoint-reconciler-type=none",
      "--shutdown-send-retry-after=false",
      "--profiling=false",
    ],
    environment: SELDOM_COLLECTED,
    logs: directory,
    hasChannel: false,
    stopSteps: SERVER_STOP_STEPS,
    onComplaint: () => {},
  });
  await withLog(server, async () => {
    await eventually(() => expectOk(settings, "/readyz"), { withinMs: READY_WITHIN_MS });
    await eventually(() => expectOk(settings, "/api/v1/namespaces/default"), { withinMs: READY_WITHIN_MS });
  });
  return server;
}

async function expectOk(settings: ApiServerSettings, resource: string): Promise<void> {
  const status = await statusOf(settings, resource);
  if (status !== 200) throw new Error(`${resource} is answered with ${status}`);
}

/** One GET as the administrator, on a connection of its own. @returns the status. */
async function statusOf({ port, ca, adminToken }: ApiServerSettings, resource: string): Promise<number | undefined> {
  const request = get({
    host: LOOPBACK,
    port,
    path: resource,
    ca,
    headers: { authorization: `Bearer ${adminToken}` },
    agent: false,
    timeout: 5_000,
  });
  request.once("timeout", () => request.destroy(new Error("no answer")));
  return await new Promise((resolve, reject) => {
    request.once("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.once("error", reject);
  });
}
