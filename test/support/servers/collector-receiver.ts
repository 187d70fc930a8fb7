import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";

const RECEIVER: GoTools = {
  name: "collector-tools",
  title: "the Collector's receiver",
  needers: "The tests of traces with OpenTelemetry's Collector",
  list: "the receiver of OpenTelemetry's Collector",
  module: fileURLToPath(new URL("../../collector-tools", import.meta.url)),
  packages: ["."],
  flags: [],
  linked: {},
  renamed: { "collector-tools": "otlp-receiver" },
  programs: [["otlp-receiver", "version"]],
  minutes: 2,
  alternative: "",
};

/**
 * The receiver of OpenTelemetry's Collector, built from test/collector-tools/go.mod.
 * @returns its address, and what it got: each batch as OTLP's JSON.
 */
export async function startCollectorReceiver(options: FindGoToolsOptions): Promise<{ url: string; batches: readonly unknown[] }> {
  const program = path.join(await findGoTools(RECEIVER, options), "otlp-receiver");
  const address = `${LOOPBACK}:${await freePort()}`;
  const child = spawn(program, [address], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout });
  await once(lines, "line");
  const batches: unknown[] = [];
  lines.on("line", (line) => void batches.push(JSON.parse(line)));
  return { url: `http://${address}`, batches };
}
