import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { onTestFinished } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { COMPILE_CACHE } from "../test-run/compile-cache.ts";
import { findImagePrograms } from "../test-run/programs.ts";
import { REPOSITORY } from "../documents/repository-files.ts";
import { mountsOf, type ComposeFile, type ComposeService } from "./file.ts";

export interface ServiceRunner {
  /** Starts a service. @param changes where this machine differs from the container's. */
  start(name: string, changes?: ServiceChanges): void;
  /** Runs a service to its end. @returns what it printed. @throws Error if it fails. */
  finish(name: string): Promise<string>;
  /** The port of this machine that stands for a container's. */
  port(containerPort: number): number;
  /** The output of the services so far. */
  log(): string;
}

interface ServiceChanges {
  program?: string;
  environment?: Readonly<Record<string, string>>;
}

export interface RunnerOptions {
  compose: ComposeFile;
  /** The volumes, a folder each; the files in it are rewritten for this machine, too. */
  volumes: string;
  files: readonly string[];
  /** In place of the one that the services would use. */
  databaseUrl: string;
}

/**
 * Runs services of compose.yaml as processes of this machine, with their own commands and environment: container paths
 * become folders of `volumes`, and container addresses ports of the loopback.
 */
export async function createServiceRunner({ compose, volumes, files, databaseUrl }: RunnerOptions): Promise<ServiceRunner> {
  const services = new Map(Object.entries(compose.services));
  const onThisMachine = await findImagePrograms();
  const ports = await assignPorts([...services.values()]);
  const output: string[] = [];

  function service(name: string): ComposeService {
    const found = services.get(name);
    if (found === undefined) throw new Error(`compose.yaml has no service ${name}.`);
    return found;
  }

  function localize(text: string, mounts: ReturnType<typeof mountsOf>): string {
    const withPaths = mounts
      .toSorted((a, b) => b.target.length - a.target.length)
      .reduce(
        (written, { source, target }) =>
          written.replaceAll(target, path.resolve(source.startsWith(".") ? REPOSITORY : volumes, source)),
        text,
      );
    const withPorts = [...ports].reduce(
      (written, [from, to]) => written.replaceAll(new RegExp(`(^|:|port_value: )${from}(?!\\d)`, "gm"), `$1${to}`),
      withPaths,
    );
    const hosts = [...services.keys(), "0.0.0.0"].join("|").replaceAll(".", "\\.");
    return withPorts.replaceAll(new RegExp(`(?<=^|//|address: )(?:${hosts})(?=$|:)`, "gm"), "127.0.0.1");
  }

  function spawnService(name: string, changes: ServiceChanges = {}) {
    const found = service(name);
    const mounts = mountsOf(found);
    const [entry = "", ...words] = [...found.entrypoint, ...found.command].map((word) => onThisMachine(localize(word, mounts)));
    const environment = Object.entries(found.environment).map(([key, value]) => [key, localize(value, mounts)] as const);
    const child = spawn(changes.program ?? (entry === "node" ? process.execPath : entry), words, {
      cwd: REPOSITORY,
      env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...Object.fromEntries(environment), ...changes.environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const own: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        own.push(text);
        output.push(text);
      });
    }
    return { child, printed: () => own.join("") };
  }

  for (const file of files) {
    const text = await readFile(path.join(volumes, file), "utf8");
    const mounts = [...services.values()].flatMap(mountsOf).filter(({ source }) => !source.startsWith("."));
    const localized = localize(
      text,
      mounts.filter(({ target }) => !target.startsWith("/volumes")),
    );
    await writeFile(path.join(volumes, file), localized.replace(/^DATABASE_URL=.*$/m, `DATABASE_URL=${databaseUrl}`));
  }

  return {
    start(name, changes) {
      const { child } = spawnService(name, changes);
      const exited = once(child, "exit");
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await exited;
      });
    },
    async finish(name) {
      const { child, printed } = spawnService(name);
      await once(child, "close");
      if (child.exitCode !== 0) throw new Error(`${name} ended with ${child.exitCode}:\n${printed()}`);
      return printed();
    },
    port: (containerPort) => ports.get(containerPort) ?? 0,
    log: () => output.join(""),
  };
}

/** Each port that a service opens, and Envoy's own two. */
async function assignPorts(services: readonly ComposeService[]): Promise<ReadonlyMap<number, number>> {
  const variables = services.flatMap(({ environment }) => Object.entries(environment));
  const opened = variables.flatMap(([name, value]) => (name.endsWith("_PORT") ? [Number(value)] : []));
  const ports = new Map<number, number>();
  for (const port of [8080, 9901, ...opened]) ports.set(port, await freePort());
  return ports;
}
