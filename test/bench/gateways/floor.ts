import { mkdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "../../../local/envoy.ts";
import { envoyPart, EXTPROC_FLAGS } from "../../../local/parts.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { pathOf } from "../pairs.ts";
import { startBenchStack } from "./bench-stack.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";

const PROGRAM = fileURLToPath(new URL("../floor/main.ts", import.meta.url));

/**
 * The same Envoy with the same configuration and the same gRPC server, which repeats recorded answers: no key, credit,
 * journal, meter or translation.
 */
export async function startFloor(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const { stack, keyFile } = await startBenchStack("floor", setting);
  const sockets = path.dirname(stack.xdsSocket);
  const logs = path.join(setting.directory, "floor");
  await mkdir(logs);
  const listen = { path: path.join(sockets, "floor.sock") };
  const [port = 0, adminPort = 0] = await freePorts(2);
  const envoy = await envoyPart({
    binary: await findEnvoy({ environment: process.env, onProgress: (line) => process.stderr.write(`${line}\n`) }),
    configFile: path.join(logs, "envoy.yaml"),
    logs,
    port,
    adminPort,
    extproc: [listen],
    xdsSocket: stack.xdsSocket,
    earlyAnswersSocket: path.join(sockets, "early.sock"),
    batchesSocket: path.join(sockets, "floor-batches.sock"),
    dashboardPort: 1,
    traces: undefined,
    environment: {},
  });
  const floor = await startChild({
    name: "The floor's ext_proc server",
    program: process.execPath,
    parameters: [...EXTPROC_FLAGS, PROGRAM, `unix:${listen.path}`, `unix:${path.join(sockets, "extproc.sock")}`],
    // Envoy's health check waits for it.
    readyUrl: `${stack.envoyAdminUrl}/ready`,
    logFile: path.join(logs, "floor.log"),
  });
  const child = await startChild({
    name: "The floor's Envoy",
    program: envoy.program,
    parameters: envoy.parameters,
    readyUrl: envoy.readyUrl,
    isReady: (response) => response.ok,
    logFile: path.join(logs, "envoy.log"),
  });
  return {
    name: "Floor",
    target: ({ client }) => ({ url: `http://${LOOPBACK}:${port}${pathOf(client)}`, headers: { "x-api-key": `@${keyFile}` } }),
    parts: { envoy: child.pid, extproc: floor.pid },
    settled: async () => {},
    async stop() {
      await child.stop();
      await floor.stop();
      await stack.stop();
    },
  };
}
