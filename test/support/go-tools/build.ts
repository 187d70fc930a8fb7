import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { GoTools } from "./go-tools.ts";

export interface GoBuildOptions {
  /** Where the programs go. */
  output: string;
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
}

/** Small and static; go.mod is taken as it is, whatever the machine's Go settings say. */
export const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-buildvcs=false"] as const;

const PROGRESS_EVERY_MS = 30_000;

/**
 * Builds programs from Go modules: minutes where nothing is cached.
 * @throws Error with one sentence that says what to do.
 */
export async function buildGoTools(tools: GoTools, { output, environment, onProgress }: GoBuildOptions): Promise<void> {
  onProgress(`Building ${tools.list} from Go modules, once; about ${tools.minutes} minutes …`);
  const lines: string[] = [];
  const linked = Object.entries(tools.linked).map(([name, value]) => `-X ${name}=${value}`);
  const linkerFlags = ["-s", "-w", ...linked].join(" ");
  // -v prints each package once it is compiled.
  const child = spawn(
    "go",
    ["build", "-v", ...BUILD_FLAGS, ...tools.flags, "-ldflags", linkerFlags, "-o", `${output}${path.sep}`, ...tools.packages],
    {
      cwd: tools.module,
      env: { ...environment, CGO_ENABLED: "0", GOWORK: "off" },
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
    if (code !== 0) throw new Error(`Go could not build ${tools.title}${tools.otherWay}. Go says: ${lines.slice(-3).join(" ")}`);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new Error(
        `Go builds ${tools.title}, and there is no go on PATH: install Go ${tools.goVersion} or later${tools.otherWay}.`,
        { cause: error },
      );
    throw error;
  } finally {
    clearInterval(timer);
  }
}
