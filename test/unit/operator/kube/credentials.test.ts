import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadFromPod } from "../../../../operator/kube/credentials.ts";

let pathPrefix: string;
let mounted: string;

beforeEach(async () => {
  pathPrefix = await mkdtemp(path.join(tmpdir(), "gateway-pod-"));
  mounted = path.join(pathPrefix, "var/run/secrets/kubernetes.io/serviceaccount");
  await mkdir(mounted, { recursive: true });
  await writeFile(path.join(mounted, "ca.crt"), "the authority\n");
  await writeFile(path.join(mounted, "token"), "first");
  pretendPod("10.96.0.1", "443");
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  await rm(pathPrefix, { recursive: true });
});

function pretendPod(host: string | undefined, port: string | undefined): void {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", host);
  vi.stubEnv("KUBERNETES_SERVICE_PORT", port);
}

describe("a Pod's access to the Kubernetes API", () => {
  test("uses the address in its environment, over TLS", async () => {
    expect((await loadFromPod(pathPrefix)).server.href).toBe("https://10.96.0.1/");
    pretendPod("fd00::1", "6443");
    expect((await loadFromPod(pathPrefix)).server.href).toBe("https://[fd00::1]:6443/");
  });

  test("trusts the mounted authority and sends the mounted token, even after kubelet has renewed it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const access = await loadFromPod(pathPrefix);
    const { ca, headers } = await access.authenticate();
    expect(String(ca)).toBe("the authority\n");
    expect(headers).toStrictEqual({ Authorization: "Bearer first" });
    await writeFile(path.join(mounted, "token"), "renewed");
    // The library reads it once a minute; the former token is good for minutes more.
    vi.setSystemTime(Date.now() + 61_000);
    expect((await access.authenticate()).headers).toStrictEqual({ Authorization: "Bearer renewed" });
  });

  test("fails with one sentence if no token is mounted", async () => {
    await rm(path.join(mounted, "token"));
    await expect((await loadFromPod(pathPrefix)).authenticate()).rejects.toThrow(
      `The Pod's credentials cannot be read (ENOENT: no such file or directory, open '${path.join(mounted, "token")}'): mount the ServiceAccount's token into the Pod.`,
    );
  });

  test("fails with one sentence outside a Pod", async () => {
    pretendPod(undefined, undefined);
    await expect(loadFromPod(pathPrefix)).rejects.toThrow("The Kubernetes API is not known: KUBERNETES_SERVICE_HOST and ");
  });
});
