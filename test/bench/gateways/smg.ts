import path from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { pathOf } from "../pairs.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";
import { installPython } from "./python.ts";

const REQUIREMENTS = fileURLToPath(new URL("../peers/smg.txt", import.meta.url));
const KEY = "bench";

/** Shepherd Model Gateway, a Rust program: it checks one key, and neither counts tokens nor translates nor bills. */
export async function startSmg(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const python = await installPython("smg", REQUIREMENTS);
  const child = await startChild({
    name: "smg",
    program: python,
    parameters: [
      ["-c", "import sys; from smg.cli import main; sys.exit(main())", "launch"],
      ["--host", LOOPBACK, "--port", String(port), "--prometheus-port", String(metricsPort), "--prometheus-host", LOOPBACK],
      ["--backend", "openai", "--worker-urls", setting.upstreamUrl, "--api-key", KEY],
      ["--history-backend", "none", "--log-level", "error", "--disable-health-check"],
    ].flat(),
    environment: { NO_PROXY: LOOPBACK },
    directory: setting.directory,
    readyUrl: `http://${LOOPBACK}:${port}/health`,
    logFile: path.join(setting.directory, "smg.log"),
  });
  return {
    name: "smg",
    target: ({ client }) => ({
      url: `http://${LOOPBACK}:${port}${pathOf(client)}`,
      headers: { authorization: `Bearer ${KEY}` },
    }),
    parts: { smg: child.pid },
    settled: async () => {},
    stop: () => child.stop(),
  };
}
