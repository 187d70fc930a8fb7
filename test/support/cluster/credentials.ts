import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { makeAuthority } from "../servers/tls-certificates.ts";
import { API_SERVICE_ADDRESS, API_URL, NODE, NODE_ADDRESS } from "./addresses.ts";

/** A user of the API server and its rights. */
const USERS = {
  admin: { user: "admin", groups: "system:masters" },
  kubelet: { user: `system:node:${NODE}`, groups: "system:nodes" },
  "kube-proxy": { user: "system:kube-proxy", groups: "" },
  "controller-manager": { user: "system:kube-controller-manager", groups: "" },
  scheduler: { user: "system:kube-scheduler", groups: "" },
} as const;

/** Writes certificates, keys, tokens and `<name>.token` and `<name>.kubeconfig` of each user. @returns the folder. */
export async function writeCredentials(directory: string): Promise<string> {
  const folder = path.join(directory, "credentials");
  await mkdir(folder, { mode: 0o700 });
  const write = (name: string, content: string) => writeFile(path.join(folder, name), content, { mode: 0o600 });
  const authority = await makeAuthority();
  try {
    const { ca, certificate, key } = await authority.issue("kubernetes.default.svc", {
      address: [NODE_ADDRESS, API_SERVICE_ADDRESS, "127.0.0.1"],
    });
    await Promise.all([write("ca.crt", ca), write("server.crt", certificate), write("server.key", key)]);
    const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await write("accounts.key", accounts.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    await write("accounts.pub", accounts.publicKey.export({ type: "spki", format: "pem" }).toString());
    const tokens: string[] = [];
    for (const [name, { user, groups }] of Object.entries(USERS)) {
      const token = randomUUID();
      tokens.push(`${token},${user},${user},"${groups}"\n`);
      await write(`${name}.token`, token);
      await write(`${name}.kubeconfig`, kubeconfig(ca, token));
    }
    await write("tokens.csv", tokens.join(""));
  } finally {
    await authority.remove();
  }
  return folder;
}

function kubeconfig(ca: string, token: string): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "cluster", cluster: { server: API_URL, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
    ],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
    "current-context": "context",
  });
}
