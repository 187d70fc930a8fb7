import { execFile } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { cached } from "../cached.ts";
import { fingerprint } from "../fingerprint.ts";
import { pathOf } from "../pairs.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";

const run = promisify(execFile);
const PEERS = fileURLToPath(new URL("../peers", import.meta.url));
const FILES = ["package.json", "package-lock.json"];

/** Portkey's open-source gateway, a Node program too; it keeps no account of what is used. */
export async function startPortkey(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const port = await freePort();
  const installed = await cached(`portkey-${await fingerprint(FILES.map((name) => path.join(PEERS, name)))}`, install);
  const child = await startChild({
    name: "Portkey",
    program: process.execPath,
    parameters: [
      "--import",
      path.join(PEERS, "loopback.js"),
      path.join(installed, "node_modules/@portkey-ai/gateway/build/start-server.js"),
      `--port=${port}`,
      "--headless",
    ],
    environment: { NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: LOOPBACK },
    readyUrl: `http://${LOOPBACK}:${port}/`,
    logFile: path.join(setting.directory, "portkey.log"),
  });
  return {
    name: "Portkey",
    target: ({ client, upstream }) => ({
      url: `http://${LOOPBACK}:${port}${pathOf(client)}`,
      headers: {
        "x-portkey-provider": upstream === "chat" ? "openai" : "anthropic",
        "x-portkey-custom-host": `${setting.upstreamUrl}/v1`,
        authorization: "Bearer bench",
      },
    }),
    parts: { portkey: child.pid },
    settled: async () => {},
    stop: () => child.stop(),
  };
}

async function install(directory: string): Promise<void> {
  for (const name of FILES) await copyFile(path.join(PEERS, name), path.join(directory, name));
  await run("npm", ["ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"], { cwd: directory });
}
