import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../charts/generate/outputs.ts";
import { cacheDirectory } from "../../local/cache-directory.ts";
import { installOnce } from "../support/test-run/install-once.ts";

/** All that decides what the bill says. */
const INPUTS = [".ci/sbom", ".npmrc", "package.json", "package-lock.json"];

/**
 * What `.ci/sbom` prints, kept in the user's cache directory until the packages change: it installs them all.
 * @returns the file.
 */
export async function billOfMaterials(): Promise<string> {
  const hash = createHash("sha256");
  for (const input of INPUTS) hash.update(await readFile(path.join(ROOT, input)));
  const directory = path.join(cacheDirectory(process.env), "bills-of-materials", hash.digest("hex").slice(0, 16));
  const file = path.join(directory, "sbom.cdx.json");
  await installOnce(directory, {
    async install() {
      const { stdout } = await promisify(execFile)(path.join(ROOT, ".ci/sbom"), { maxBuffer: 1 << 26 });
      await writeFile(file, stdout);
    },
    onWait: (holder) => console.log(`Waiting for process ${holder}, which makes the bill of materials …`),
  });
  return file;
}
