import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";
import { findGo } from "./go.ts";
import type { GoTools } from "./programs.ts";

export interface GoBuildOptions {
  /** Output directory of the programs. */
  output: string;
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
}

/** Small and static; go.mod is taken as it is, whatever the machine's Go settings say. */
export const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-buildvcs=false"] as const;

const PROGRESS_EVERY_MS = 30_000;

/**
 * Builds programs from Go modules, which takes minutes if nothing is cached.
 * @throws MissingPrerequisite
 */
export async function buildGoTools(tools: GoTools, { output, environment, onProgress }: GoBuildOptions): Promise<void> {
  const go = await findGo({ module: tools.module, title: tools.needers, environment, onProgress });
  onProgress(`Building ${tools.list} from Go modules, once; about ${tools.minutes} minutes …`);
  const lines: string[] = [];
  const linked = Object.entries(tools.linked).map(([name, value]) => `-X ${name}=${value}`);
  const linkerFlags = ["-s", "-w", ...linked].join(" ");
  // -v prints each package once it is compiled.
  const child = spawn(
    // Tests run meanwhile, and have time limits.
    "nice",
    [go, "build", "-v", ...BUILD_FLAGS, ...tools.flags, "-ldflags", linkerFlags, "-o", `${output}${path.sep}`, ...tools.packages],
    {
      cwd: tools.module,
      // A GOROOT that is set is that of another Go.
      env: { ...environment, CGO_ENABLED: "0", GOWORK: "off", ...(go === "go" ? {} : { GOROOT: undefined }) },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  createInterface({ input: child.stderr }).on("line", (line) => void lines.push(line));
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    onProgress(`Building ${tools.title}: ${lines.length} packages in ${seconds} s …`);
  }, PROGRESS_EVERY_MS);
  try {
    const [code] = await once(child, "close");
    if (code !== 0)
      throw new MissingPrerequisite(
        `Go could not build ${tools.title} (check the network and try again${tools.alternative}). Go says: ${lines.slice(-3).join(" ")}`,
      );
  } finally {
    clearInterval(timer);
  }
}
