import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { NODE_ADDRESS } from "../addresses.ts";
import { startContainerd } from "../containerd.ts";
import { openRoom } from "../room.ts";
import { createBuildah } from "./buildah.ts";
import type { Image, Images } from "./images.ts";

const run = promisify(execFile);

/**
 * Unpacks images that are new into a containerd's root that is kept between runs. Each cluster gets a copy
 * (`copySeed`): what its pods write does not stay.
 */
export async function seedImages(directory: string, images: Images): Promise<string> {
  const seed = path.join(directory, "seed");
  const imported = path.join(directory, "imported");
  await mkdir(imported, { recursive: true });
  const marker = ({ reference }: Image) => path.join(imported, encodeURIComponent(reference));
  const missing: Image[] = [];
  for (const image of Object.values<Image>({ ...images }))
    if ((await readFile(marker(image), "utf8").catch(() => "")) !== image.fingerprint) missing.push(image);
  if (missing.length === 0) return seed;

  const workspace = await mkdtemp(path.join(directory, "import-"));
  const room = await openRoom(workspace, NODE_ADDRESS);
  try {
    const socket = await startContainerd(room, { directory: workspace, root: seed, pause: images.pause });
    const buildah = createBuildah(directory);
    for (const image of missing) {
      const archive = path.join(workspace, "image.tar");
      await buildah.save(image.reference, archive);
      await importImage(() => room.run(["ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", archive]));
      await writeFile(marker(image), image.fingerprint);
    }
  } finally {
    await room.close();
    await rm(workspace, { recursive: true, force: true });
  }
  return seed;
}

/**
 * Replacing an image frees the layers of the one before. On a busy machine containerd may collect a layer that both have after
 * the import has found it and before it is held: the next attempt unpacks it anew.
 */
async function importImage(attempt: () => Promise<unknown>): Promise<void> {
  try {
    await attempt();
  } catch (error) {
    if (!String(error).includes("does not exist")) throw error;
    await attempt();
  }
}

/**
 * A copy that takes seconds and hardly any space: layers are linked, since nothing changes a file of theirs in place;
 * containerd's databases are copied.
 */
export async function copySeed(seed: string, root: string): Promise<void> {
  await run("cp", ["--archive", "--link", seed, root]);
  const { stdout } = await run("find", [root, "-maxdepth", "3", "-name", "*.db", "-type", "f"]);
  for (const file of stdout.trim().split("\n")) {
    await run("cp", ["--archive", file, `${file}.own`]);
    await run("mv", [`${file}.own`, file]);
  }
}
