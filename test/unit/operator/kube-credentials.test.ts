import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accessFromPod } from "../../../operator/kube/credentials.ts";

let pathPrefix: string;
let mounted: string;

beforeEach(async () => {
  pathPrefix = await mkdtemp(path.join(tmpdir(), "gateway-pod-"));
  mounted = path.join(pathPrefix, "var/run/secrets/kubernetes.io/serviceaccount");
  await mkdir(mounted, { recursive: true });
  await writeFile(path.join(mounted, "ca.crt"), "the authority\n");
  await writeFile(path.join(mounted, "token"), "first\n");
});
afterEach(() => rm(pathPrefix, { recursive: true }));

describe("a Pod's access to the Kubernetes API", () => {
  test("is at the address in its environment, over TLS", () => {
    expect(accessFromPod({ host: "10.96.0.1", port: 443, pathPrefix }).server.href).toBe("https://10.96.0.1/");
    expect(accessFromPod({ host: "fd00::1", port: 6443, pathPrefix }).server.href).toBe("https://[fd00::1]:6443/");
  });

  test("trusts the mounted authority and sends the token that is mounted now", async () => {
    const access = accessFromPod({ host: "10.96.0.1", port: 443, pathPrefix });
    expect(await access.authenticate()).toStrictEqual({ ca: "the authority", headers: { authorization: "Bearer first" } });
    await writeFile(path.join(mounted, "token"), "renewed");
    expect((await access.authenticate()).headers.authorization).toBe("Bearer renewed");
  });

  test("fails with one sentence where no token is mounted", async () => {
    await rm(path.join(mounted, "token"));
    await expect(accessFromPod({ host: "10.96.0.1", port: 443, pathPrefix }).authenticate()).rejects.toThrow(
      `${path.join(mounted, "token")} cannot be read: mount the ServiceAccount's token into the Pod.`,
    );
  });
});
