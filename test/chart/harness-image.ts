import { execFile } from "node:child_process";
import { copyFile, cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import * as z from "zod";
import { ROOT } from "../../charts/generate/outputs.ts";

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
});

/**
 * Puts together what the image's last stage holds, as the Dockerfile says: files of the build context, and the bundles with the
 * packages that they need; all but the bill of materials.
 * @param directory stands for the image's /app.
 */
export async function assembleImage(directory: string): Promise<void> {
  const dockerfile = await readFile(path.join(ROOT, "Dockerfile"), "utf8");
  const stages = dockerfile.split(/^FROM /m);
  await copyInto(directory, stages.at(-1) ?? "");
  await makeBundles(path.join(directory, "dist"), stages.find((stage) => stage.startsWith("packages AS bundles\n")) ?? "");
}

/** What a stage takes from the build context. */
async function copyInto(directory: string, stage: string): Promise<void> {
  const isInContext = await contextFilter();
  for (const [, from = "", to = ""] of stage.matchAll(/^COPY (?!--from)(\S+) (\S+)$/gm)) {
    const target = path.join(directory, to, to.endsWith("/") ? from : "");
    await cp(path.join(ROOT, from), target, { recursive: true, filter: isInContext });
  }
}

async function makeBundles(target: string, stage: string): Promise<void> {
  const [, program = ""] = /^RUN node (\S+) dist$/m.exec(stage) ?? [];
  const context = await mkdtemp(path.join(tmpdir(), "gateway-bundles-"));
  try {
    await copyInto(context, stage);
    await copyFile(path.join(ROOT, "package.json"), path.join(context, "package.json"));
    await symlink(path.join(ROOT, "node_modules"), path.join(context, "node_modules"));
    await promisify(execFile)(process.execPath, [program, "dist"], { cwd: context });
    await cp(path.join(context, "dist"), target, { recursive: true });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

/** `.dockerignore` shuts everything out, lets names at the top in again, and takes folders in them out. */
async function contextFilter(): Promise<(file: string) => boolean> {
  const lines = (await readFile(path.join(ROOT, ".dockerignore"), "utf8"))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const included = new Set(lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1)));
  const excluded = lines.filter((line) => !line.startsWith("!") && line !== "*");
  if (!lines.includes("*")) throw new Error(".dockerignore does not shut everything out first.");
  return (file) => {
    const relative = path.relative(ROOT, file);
    return included.has(relative.split(path.sep)[0] ?? "") && !excluded.some((each) => `${relative}/`.startsWith(`${each}/`));
  };
}

/** What `rm -rf node_modules/…` takes away before the bill of materials is made: beginnings of packages' names. */
function readRemoved(dockerfile: string): string[] {
  const folders = /rm -rf ((?:node_modules\/\S+ ?)+)$/m.exec(dockerfile)?.[1]?.trim().split(" ") ?? [];
  return folders.map((folder) => folder.replace(/^node_modules\//, "").replace(/\*$/, ""));
}

/** Names of the packages of which the image is made, those for other machines among them; without those nested in one. */
export async function imagePackages(): Promise<string[]> {
  const removed = readRemoved(await readFile(path.join(ROOT, "Dockerfile"), "utf8"));
  const { packages } = lockSchema.parse(JSON.parse(await readFile(path.join(ROOT, "package-lock.json"), "utf8")));
  return (
    Object.entries(packages)
      .filter(([folder, { dev }]) => folder.startsWith("node_modules/") && dev !== true)
      .map(([folder]) => folder.slice("node_modules/".length))
      // What is nested comes with the package that it is nested in.
      .filter((name) => !name.includes("/node_modules/"))
      .filter((name) => !removed.some((beginning) => name.startsWith(beginning)))
  );
}
