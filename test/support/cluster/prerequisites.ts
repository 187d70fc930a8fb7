import { readFileSync } from "node:fs";
import { access } from "node:fs/promises";
import process from "node:process";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";

/** Bit of CAP_SYS_ADMIN, which making namespaces and mounting need. */
const SYS_ADMIN = 1n << 21n;

/**
 * Why this machine's user cannot run a cluster, if so: the project `cluster` is left out then, and the run says it.
 * A root without Debian's packages runs it, and fails with the sentence that says what to install.
 */
export function whyNoCluster(): string | undefined {
  if (process.platform !== "linux") return "a cluster's node runs on Linux only";
  if (process.getuid?.() !== 0) return "it starts a cluster's node, which only root may";
  const [, capabilities = "0"] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const mayMount = (BigInt(`0x${capabilities}`) & SYS_ADMIN) !== 0n;
  return mayMount ? undefined : "this container's root may not make namespaces (run it in a privileged one)";
}

/** A file of each Debian package that is needed. */
const PACKAGES: Readonly<Record<string, string>> = {
  buildah: "/usr/bin/buildah",
  containerd: "/usr/bin/containerd",
  "containernetworking-plugins": "/usr/lib/cni/bridge",
  debootstrap: "/usr/sbin/debootstrap",
  iproute2: "/usr/sbin/ip",
  nftables: "/usr/sbin/nft",
  runc: "/usr/sbin/runc",
};

/** @throws MissingPrerequisite */
export async function requirePackages(): Promise<void> {
  const missing: string[] = [];
  for (const [name, file] of Object.entries(PACKAGES)) await access(file).catch(() => missing.push(name));
  if (missing.length > 0)
    throw new MissingPrerequisite(
      `A cluster's node needs programs that this machine lacks: apt-get install --no-install-recommends ${missing.join(" ")}.`,
    );
}
