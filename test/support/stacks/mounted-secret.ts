import { mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import path from "node:path";

/**
 * Puts files into a directory as a kubelet puts a Secret: through a link that is replaced, so that all of them change at once.
 * @param content by file name.
 */
export async function mountSecret(directory: string, content: Readonly<Record<string, string>>): Promise<void> {
  const version = `..version-${Date.now()}`;
  await mkdir(path.join(directory, version), { recursive: true });
  for (const [name, text] of Object.entries(content)) await writeFile(path.join(directory, version, name), text);
  await symlink(version, path.join(directory, "..data_tmp"));
  await rename(path.join(directory, "..data_tmp"), path.join(directory, "..data"));
  // Names that are there lead to the new content already. Touched after the exchange, one could be missing for who reads now.
  const present = new Set(await readdir(directory));
  for (const name of Object.keys(content))
    if (!present.has(name)) await symlink(path.join("..data", name), path.join(directory, name));
}
