import { existsSync } from "node:fs";
import { cp, readFile } from "node:fs/promises";
import path from "node:path";
import { ROOT } from "./programs.ts";

/** Packages that bundles leave out, because they read files of their own: native code, fonts. */
export const LEFT_OUT = ["@node-rs/argon2", "fontkit", "pdfkit"];
/** Of which programs read only files. */
export const READ = ["@embedpdf/fonts-sc", "dejavu-fonts-ttf", "marked"];

/** Copies what bundles do not contain beside them, with all that it depends on, so that they need no other packages. */
export async function copyPackages(directory: string): Promise<void> {
  const folders = new Set<string>();
  for (const name of [...LEFT_OUT, ...READ]) await collect(path.join(ROOT, "node_modules", name), folders);
  for (const folder of folders) await cp(folder, path.join(directory, path.relative(ROOT, folder)), { recursive: true });
}

/** A package's folder and those of its dependencies, which npm has put beside it or inside it. */
async function collect(folder: string, folders: Set<string>): Promise<void> {
  if (folders.has(folder)) return;
  folders.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = [path.join(folder, "node_modules", name), path.join(ROOT, "node_modules", name)].find(existsSync);
    // Native code for other machines is not installed.
    if (found !== undefined) await collect(found, folders);
  }
}
