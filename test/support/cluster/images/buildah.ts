import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import * as z from "zod";

const run = promisify(execFile);
const BUILD_WITHIN_MS = 30 * 60_000;
/**
 * Layers of earlier sources stay until there are this many of them; then all go that no name refers to. A change of sources
 * leaves a dozen.
 */
const MAX_LAYERS = 400;

export interface Build {
  reference: string;
  dockerfile: string;
  /** Its build context. */
  context: string;
  /** A stage of the Dockerfile; its last if absent. */
  target?: string;
  /** Of the Dockerfile's ARGs. */
  values?: Readonly<Record<string, string>>;
  /** Files of this machine that its commands see: [outside, inside]. */
  mounts?: readonly (readonly [string, string])[];
}

/** Builds images from Dockerfiles, without a daemon or a registry, in a storage of its own. */
export interface Buildah {
  build(build: Build): Promise<void>;
  /** Builds it if what it was made from has changed since. */
  buildOnce(fingerprint: string, prepare: () => Promise<Build>): Promise<void>;
  /** Writes an image as `docker save` does. */
  save(reference: string, file: string): Promise<void>;
  /** Makes a container of an image, with the machine's network. */
  createContainer(reference: string): Promise<Container>;
}

interface Container {
  /** Runs the image's entry point in it, as the image's user. */
  command: readonly string[];
  remove(): Promise<void>;
}

const imageSchema = z.object({ OCIv1: z.object({ config: z.object({ Entrypoint: z.array(z.string()) }) }) });

export function createBuildah(directory: string): Buildah {
  const storage = path.join(directory, "storage");
  const options = ["--root", storage, "--runroot", path.join(directory, "storage-run"), "--storage-driver", "overlay"];

  /** In its own mount namespace, so that the mounts of an interrupted build end with it. */
  async function buildah(words: readonly string[]): Promise<string> {
    const entered = ["--mount", "--propagation", "private", "buildah", ...options, ...words];
    try {
      // Layers on their way are too large for the memory that takes the temporary files of tests.
      const env = { ...process.env, TMPDIR: "/var/tmp" };
      const { stdout } = await run("unshare", entered, { env, maxBuffer: 64 * 1024 * 1024, timeout: BUILD_WITHIN_MS });
      return stdout;
    } catch (error) {
      const complaint = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
      throw new Error(`buildah ${words[0]} failed:\n${complaint.split("\n").slice(-25).join("\n")}`, { cause: error });
    }
  }

  async function build({ reference, dockerfile, context, target, values = {}, mounts = [] }: Build): Promise<void> {
    const layers = (await buildah(["images", "--all", "--quiet"])).split("\n");
    if (layers.length > MAX_LAYERS) {
      // Of builds that were interrupted: a layer that one stands on cannot be removed.
      await buildah(["rm", "--all"]);
      await buildah(["rmi", "--prune"]);
    }
    const volumes = mounts.flatMap(([outside, inside]) => ["--volume", `${outside}:${inside}:ro`]);
    const given = Object.entries(values).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
    const stage = target === undefined ? [] : ["--target", target];
    const settings = ["--isolation", "chroot", "--network", "host", "--pull-never", "--layers", ...stage, ...volumes, ...given];
    await buildah(["build", ...settings, "--file", dockerfile, "--tag", reference, context]);
  }

  return {
    build,
    async buildOnce(fingerprint, prepare) {
      const marker = path.join(directory, "built", encodeURIComponent(fingerprint.split("@")[0] ?? ""));
      if ((await readFile(marker, "utf8").catch(() => "")) === fingerprint) return;
      await build(await prepare());
      await mkdir(path.dirname(marker), { recursive: true });
      await writeFile(marker, fingerprint);
    },
    async save(reference, file) {
      await rm(file, { force: true });
      await buildah(["push", "--quiet", reference, `docker-archive:${file}:${reference}`]);
    },
    async createContainer(reference) {
      const inspected: unknown = JSON.parse(await buildah(["inspect", "--type", "image", reference]));
      const { Entrypoint } = imageSchema.parse(inspected).OCIv1.config;
      const id = (await buildah(["from", "--pull-never", reference])).trim();
      return {
        command: ["buildah", ...options, "run", "--isolation", "chroot", "--network", "host", id, "--", ...Entrypoint],
        async remove() {
          await buildah(["rm", id]);
        },
      };
    },
  };
}
