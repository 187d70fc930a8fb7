import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { installOnce } from "../support/test-run/install-once.ts";
import { MissingPrerequisite } from "../support/test-run/prerequisite.ts";
import { runLogged } from "./command.ts";
import type { HostSettings } from "./host.ts";

export const SUITES = { bookworm: "Debian 12", trixie: "Debian 13" } as const;
export type Suite = keyof typeof SUITES;

/** What the README lists, and what brings the repository and the printed commands: git, curl and the web's authorities. */
const PREREQUISITES = ["python3", "python3-pip", "git", "curl", "ca-certificates"];
const DEBIAN_NODE = ["nodejs", "npm"];
const APT_INSTALL = ["apt-get", "install", "-qy", "--no-install-recommends"];
const WITHIN_MS = 30 * 60_000;

interface BaseOptions {
  suite: Suite;
  /** With Debian's own Node.js and npm. */
  hasNode: boolean;
  cache: string;
  host: HostSettings;
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

/** A root of this suite with the prerequisites and an ordinary user, made once and never changed afterwards. */
export async function findBase(options: BaseOptions): Promise<string> {
  if (!options.hasNode) {
    return makeOnce(options, PREREQUISITES, async (root, settings) => {
      await debootstrap(options.suite, root, settings);
      await options.host.writeInto(root);
      await inside(root, ["apt-get", "update", "-q"], settings);
      await inside(root, [...APT_INSTALL, ...PREREQUISITES], settings);
      await inside(root, ["useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", "newcomer"], settings);
    });
  }
  const plain = await findBase({ ...options, hasNode: false });
  return makeOnce(options, [...PREREQUISITES, ...DEBIAN_NODE], async (root, settings) => {
    await required("cp", ["-a", "--reflink=auto", plain, root], {
      environment: options.host.environment,
      signal: settings.signal,
    });
    await inside(root, [...APT_INSTALL, ...DEBIAN_NODE], settings);
  });
}

async function makeOnce(
  { suite, cache, host, onProgress, signal }: BaseOptions,
  packages: readonly string[],
  make: (root: string, settings: Settings) => Promise<void>,
): Promise<string> {
  const fingerprint = createHash("sha256").update(packages.join(" ")).digest("hex").slice(0, 12);
  const directory = path.join(cache, `${suite}-${fingerprint}`);
  const root = path.join(directory, "root");
  await installOnce(directory, {
    async install() {
      onProgress(`Making a root of ${SUITES[suite]} with ${packages.join(", ")}, once …`);
      await make(root, { host, signal });
      await inside(root, ["apt-get", "clean"], { host, signal });
    },
    onWait: (holder) => onProgress(`Waiting for process ${holder}, which makes the root …`),
  });
  return root;
}

/** @throws MissingPrerequisite */
export async function requireTools(): Promise<void> {
  if (process.getuid?.() !== 0) throw new MissingPrerequisite("Bare roots are made and entered as root: run it with sudo.");
  for (const program of ["/usr/sbin/debootstrap", "/usr/bin/unshare", "/usr/sbin/ip"]) {
    const isThere = await access(program).then(
      () => true,
      () => false,
    );
    if (!isThere)
      throw new MissingPrerequisite(
        `Bare roots are made on Debian or Ubuntu, and there is no ${program}: install debootstrap, util-linux and iproute2.`,
      );
  }
}

type Settings = Pick<BaseOptions, "host" | "signal">;

async function debootstrap(suite: Suite, root: string, { host, signal }: Settings): Promise<void> {
  const words = ["--variant=minbase", suite, root, ...(host.mirror === undefined ? [] : [host.mirror])];
  await required("unshare", ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "debootstrap", ...words], {
    environment: host.environment,
    signal,
  });
}

/** Services that packages would start find no process of this machine, and all mounts are gone afterwards. */
async function inside(root: string, words: readonly string[], { host, signal }: Settings): Promise<void> {
  const script = 'mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"';
  const parameters = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, root, ...words];
  await required("unshare", parameters, { environment: { ...host.environment, DEBIAN_FRONTEND: "noninteractive" }, signal });
}

async function required(
  program: string,
  words: readonly string[],
  { environment, signal }: { environment: HostSettings["environment"]; signal: AbortSignal },
): Promise<void> {
  const settings = { PATH: "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", ...environment };
  const { code, lines } = await runLogged(program, words, { environment: settings, withinMs: WITHIN_MS, signal });
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}:\n${lines.slice(-20).join("\n")}`);
}
