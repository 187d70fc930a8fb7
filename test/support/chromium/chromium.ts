import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { chromium, type Browser } from "playwright-core";
import * as z from "zod";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";

const run = promisify(execFile);
type Environment = Readonly<Record<string, string | undefined>>;

/** Nothing here is for the outside: pages of loopback alone are opened, by the tests. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
];

/** Part of the unpacked folder's name: raise it if what is unpacked changes while the package's version does not. */
const LAYOUT = 2;

let shared: Promise<Browser> | undefined;

/**
 * The browser of all test files that share this process, each in contexts of its own; it ends with the process.
 * @throws MissingPrerequisite
 */
export async function sharedChromium(): Promise<Browser> {
  const browser = await (shared ??= launchChromium());
  if (browser.isConnected()) return browser;
  shared = launchChromium();
  return await shared;
}

/** Starts a real browser without a window. @throws MissingPrerequisite */
export async function launchChromium(environment: Environment = process.env): Promise<Browser> {
  const { program, settings } = await findChromium(environment);
  return chromium.launch({
    executablePath: program,
    args: ARGUMENTS,
    env: Object.fromEntries(
      Object.entries({ ...environment, ...settings }).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
    ),
  });
}

/** The browser in CHROMIUM; else the one that came with the packages, unpacked once into the user's cache directory. */
async function findChromium(environment: Environment): Promise<{ program: string; settings: Record<string, string> }> {
  const given = environment["CHROMIUM"];
  if (given !== undefined && given !== "") return { program: given, settings: {} };
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new MissingPrerequisite("The browser tests need Chromium or Chrome: install one and set CHROMIUM to its program.");
  const directory = path.join(cacheDirectory(environment), `chromium-${await version()}-${LAYOUT}`);
  if (!(await isThere(directory))) await unpackInto(directory);
  return {
    program: path.join(directory, "chromium"),
    settings: {
      LD_LIBRARY_PATH: path.join(directory, "al2023", "lib"),
      FONTCONFIG_PATH: path.join(directory, "fonts"),
    },
  };
}

/** Of the package: it exports no package.json. */
async function version(): Promise<string> {
  const file = new URL("../package.json", import.meta.resolve("@sparticuz/chromium"));
  return z.object({ version: z.string() }).parse(JSON.parse(await readFile(file, "utf8"))).version;
}

async function unpackInto(directory: string): Promise<void> {
  await mkdir(path.dirname(directory), { recursive: true });
  const unpacked = await mkdtemp(`${directory}.`);
  await run(process.execPath, [path.join(import.meta.dirname, "unpack.ts")], { env: { ...process.env, TMPDIR: unpacked } });
  await writeFile(path.join(unpacked, "fonts", "fonts.conf"), fontsConfiguration(path.join(directory, "fonts")));
  // Of two that unpacked at once, the second finds it there.
  await rename(unpacked, directory).catch(() => rm(unpacked, { recursive: true, force: true }));
}

/**
 * The package's own fonts.conf lists folders of AWS Lambda, and Chromium crashes when it finds no font at all. This one
 * lists the unpacked fonts and, if the machine has a configuration, everything in that.
 */
function fontsConfiguration(fonts: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${escapeXml(fonts)}</dir>
  <cachedir>${escapeXml(path.join(fonts, "cache"))}</cachedir>
</fontconfig>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
