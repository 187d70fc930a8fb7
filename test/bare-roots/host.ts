import { execFile } from "node:child_process";
import { copyFile, mkdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
type Environment = Readonly<Record<string, string | undefined>>;

/** What apt, npm, pip and git need on this machine to reach their registries: proxies, authorities, mirrors. */
export interface HostSettings {
  /** Mirror of Debian, if the machine names one. */
  mirror: string | undefined;
  environment: Readonly<Record<string, string>>;
  /** Writes the files among them into a root. */
  writeInto(root: string): Promise<void>;
}

/** Whom a Debian trusts on the web. */
export const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";
const FILES = ["/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", AUTHORITIES];
const VARIABLES =
  /^(?:(?:https?|all|no)_proxy|(?:NODE_EXTRA|CURL|REQUESTS|PIP|SSL|GIT_SSL)_\w*CA\w*|(?:SSL|PIP)_CERT\w*|PIP_(?:INDEX|EXTRA|TRUSTED|DEFAULT)\w*|GO(?:PROXY|SUMDB|NOSUMDB|NOSUMCHECK|TOOLCHAIN))$/i;
const NPM_SETTINGS = ["registry", "cafile", "proxy", "https-proxy", "noproxy"];

export async function readHostSettings(environment: Environment): Promise<HostSettings> {
  const variables: Record<string, string> = {};
  const files = new Set(FILES);
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || value === "" || !VARIABLES.test(name)) continue;
    if (path.isAbsolute(value)) {
      if (!(await isFile(value))) continue;
      files.add(value);
    }
    variables[name] = value;
  }
  const npm = await npmSettings(environment);
  for (const [name, value] of Object.entries(npm)) {
    variables[`npm_config_${name.replaceAll("-", "_")}`] = value;
    if (path.isAbsolute(value)) files.add(value);
  }
  const apt = await aptSettings();
  return {
    mirror: await debianMirror(),
    environment: variables,
    async writeInto(root) {
      for (const file of files) {
        if (!(await isFile(file))) continue;
        await mkdir(path.join(root, path.dirname(file)), { recursive: true });
        await copyFile(file, path.join(root, file));
      }
      const folder = path.join(root, "etc/apt/apt.conf.d");
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, "90host"), apt);
    },
  };
}

/** Of npm's own, those that differ from what it comes with. */
async function npmSettings(environment: Environment): Promise<Record<string, string>> {
  // Under `npm run` the variables repeat npm's defaults, such as where its packages are.
  const plain = Object.fromEntries(Object.entries(environment).filter(([name]) => !/^npm_/i.test(name)));
  const settings: Record<string, string> = {};
  for (const name of NPM_SETTINGS) {
    const ask = (words: readonly string[]) => run("npm", ["config", "get", name, ...words], { env: plain, cwd: "/" });
    const value = (await ask([])).stdout.trim();
    const standard = (await ask(["--userconfig=/nonexistent/user", "--globalconfig=/nonexistent/global"])).stdout.trim();
    if (value !== standard && value !== "null" && value !== "") settings[name] = value;
  }
  return settings;
}

async function aptSettings(): Promise<string> {
  const { stdout } = await run("apt-config", ["dump"]);
  return stdout
    .split("\n")
    .filter((line) => /^Acquire::(?:https?::|Check-|ForceIP|Retries)/.test(line))
    .map((line) => `${line}\n`)
    .join("");
}

async function debianMirror(): Promise<string | undefined> {
  const words = ["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"];
  const { stdout } = await run("apt-get", words);
  return /^Debian Debian (\S+)$/m.exec(stdout)?.[1];
}

async function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}
