import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { startRecordingProxy, type RecordingProxy } from "../servers/recording-proxy.ts";

/** A program's output and exit status. */
export interface Ran {
  code: number | null;
  /** Both outputs, in the order in which they came. */
  output: string;
  stdout: string;
}

export interface RunOptions {
  environment?: Readonly<Record<string, string>>;
  input?: string;
  cwd?: string;
}

/** A home folder of its own, in which programs find nothing of this machine's and reach loopback only. */
export interface Machine {
  home: string;
  /** A folder in it that tools work in. */
  work: string;
  proxy: RecordingProxy;
  run(program: string, parameters: readonly string[], options?: RunOptions): Promise<Ran>;
  write(name: string, text: string | Buffer, mode?: number): Promise<string>;
  read(name: string): Promise<string>;
  mode(name: string): Promise<string>;
  /** Every file, folder and link with its mode and content: what "byte for byte" is about. */
  picture(): Promise<Record<string, string>>;
  remove(): Promise<void>;
}

const WITHIN_MS = 110_000;
const LOOPBACK = "127.0.0.1,localhost";

export async function createMachine({ path: searchPath = "/usr/bin:/bin" }: { path?: string } = {}): Promise<Machine> {
  const home = await mkdtemp(path.join(tmpdir(), "model-gateway-machine-"));
  const work = path.join(home, "work");
  await mkdir(work);
  const proxy = await startRecordingProxy();
  const proxies = Object.fromEntries(
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"].map((name) => [name, proxy.url]),
  );
  const environment = {
    HOME: home,
    PATH: `${path.dirname(process.execPath)}:${searchPath}`,
    TERM: "dumb",
    NO_COLOR: "1",
    NO_PROXY: LOOPBACK,
    no_proxy: LOOPBACK,
    ...proxies,
  };
  const file = (name: string) => path.join(home, name);

  return {
    home,
    work,
    proxy,
    run: (program, parameters, options = {}) =>
      runProgram(program, parameters, {
        ...options,
        cwd: options.cwd ?? work,
        environment: { ...environment, ...options.environment },
      }),
    async write(name, text, mode = 0o644) {
      await mkdir(path.dirname(file(name)), { recursive: true });
      await writeFile(file(name), text, { mode });
      return file(name);
    },
    read: (name) => readFile(file(name), "utf8"),
    mode: async (name) => ((await stat(file(name))).mode & 0o777).toString(8),
    picture: () => pictureOf(home, ""),
    async remove() {
      await endLeftovers(home);
      await proxy.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function runProgram(
  program: string,
  parameters: readonly string[],
  { cwd, environment, input }: { cwd: string; environment: Record<string, string>; input?: string },
): Promise<Ran> {
  const child = spawn(program, parameters, { cwd, env: environment, detached: true, timeout: WITHIN_MS, killSignal: "SIGKILL" });
  let output = "";
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (output += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("close", resolve);
  return { code: await promise, output, stdout };
}

async function pictureOf(root: string, folder: string): Promise<Record<string, string>> {
  const picture: Record<string, string> = {};
  for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    const whole = path.join(root, name);
    if (entry.isSymbolicLink()) {
      picture[name] = `→ ${await readlink(whole)}`;
      continue;
    }
    const mode = ((await stat(whole)).mode & 0o777).toString(8);
    picture[name] = entry.isDirectory() ? mode : `${mode} ${(await readFile(whole)).toString("latin1")}`;
    if (entry.isDirectory()) Object.assign(picture, await pictureOf(root, name));
  }
  return picture;
}

/** Some tools leave a process behind that serves the next run: known by the home folder, which is this machine's alone. */
async function endLeftovers(home: string): Promise<void> {
  for (const pid of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!environment.split("\0").includes(`HOME=${home}`)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended by itself in between.
    }
  }
}
