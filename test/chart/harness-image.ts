import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { writeBundles } from "../../bundle/write.ts";
import { ROOT } from "../../charts/generate/outputs.ts";

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
});

/** In the image: made as the release makes its own, which published.test.ts compares with the image's packages. */
const BILL_OF_MATERIALS = "sbom.cdx.json";

/**
 * Puts together what the image's last stage holds, as the Dockerfile says: files of the build context, generated code, and
 * the packages that `npm ci --omit=dev` leaves; all but the bill of materials.
 * @param directory stands for the image's /app.
 */
export async function assembleImage(directory: string): Promise<void> {
  const dockerfile = await readFile(path.join(ROOT, "Dockerfile"), "utf8");
  const lastStage = dockerfile.split(/^FROM /m).at(-1) ?? "";
  const isInContext = await contextFilter();
  for (const [, options = "", from = "", to = ""] of lastStage.matchAll(/^COPY (--from=\S+ )?(\S+) (\S+)$/gm)) {
    const target = path.join(directory, to);
    if (options === "")
      await cp(path.join(ROOT, from), path.join(target, to.endsWith("/") ? from : ""), { recursive: true, filter: isInContext });
    else if (to === "node_modules") await linkPackages(target, await imagePackages());
    else if (to === "dist") await writeBundles(target);
    else if (to !== BILL_OF_MATERIALS) await cp(path.join(ROOT, from.replace(/^\/app\//, "")), target, { recursive: true });
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

/** What the image's `rm -rf node_modules/…` takes away again: beginnings of packages' names. */
function readRemoved(dockerfile: string): string[] {
  const folders = /rm -rf ((?:node_modules\/\S+ ?)+)$/m.exec(dockerfile)?.[1]?.trim().split(" ") ?? [];
  return folders.map((folder) => folder.replace(/^node_modules\//, "").replace(/\*$/, ""));
}

/** Names of the image's packages, those for other machines among them; without those that are nested in one. */
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

async function linkPackages(target: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(path.dirname(path.join(target, name)), { recursive: true });
    await symlink(path.join(ROOT, "node_modules", name), path.join(target, name));
  }
}
