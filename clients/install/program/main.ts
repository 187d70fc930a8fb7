import { homedir } from "node:os";
import path from "node:path";
import process from "node:process";
import { runInstaller } from "./install.ts";
import type { Served } from "./served.ts";

/** install.sh and install.ps1 define it before this program. */
declare const MODEL_GATEWAY: Served;

process.umask(0o077);
const home = process.env["HOME"] ?? homedir();
const stateHome =
  process.platform === "win32"
    ? (process.env["LOCALAPPDATA"] ?? path.join(home, "AppData", "Local"))
    : (process.env["XDG_STATE_HOME"] ?? path.join(home, ".local", "state"));

async function main(): Promise<void> {
  process.exitCode = await runInstaller(process.argv.slice(2), {
    served: MODEL_GATEWAY,
    environment: process.env,
    platform: process.platform,
    home,
    state: path.join(stateHome, "model-gateway", "install"),
    print: (line) => void process.stdout.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`${line}\n`),
  });
}

void main();
