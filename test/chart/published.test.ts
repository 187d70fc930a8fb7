import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { stamp } from "../../charts/release/stamp.ts";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { REPOSITORY } from "../support/documents/repository-files.ts";
import { billOfMaterials } from "./harness-bill.ts";
import { imagePackages } from "./harness-image.ts";
import { podsOf } from "./harness-pods.ts";
import { release } from "./harness-release.ts";
import { CHART, EXTERNAL_DATABASE, parseObjects } from "./harness-render.ts";

/** What `.ci/release` makes of a commit, without the image. */
const run = promisify(execFile);
const api = useKubeApi();
let directory = "";
let version = "";

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-release-"));
  ({ version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"))));
  await release(directory, { mask: "022", at: new Date("2026-03-04T05:06:07Z"), bill: await billOfMaterials() });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const made = (file: string) => path.join(directory, "out", file);
const chart = () => made(`model-gateway-${version}.tgz`);
test("a release has a chart, a bill of materials and their checksums", async () => {
  const files = [`model-gateway-${version}.cdx.json`, `model-gateway-${version}.tgz`, "SHA256SUMS"];
  expect((await readdir(made("."))).sort()).toEqual(files.sort());
  const { stdout } = await run("sha256sum", ["--check", "SHA256SUMS"], { cwd: made(".") });
  expect(stdout.trim().split("\n")).toEqual(files.slice(1).map((name) => `${name}: OK`));
});

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

test("the bill of materials names each of the image's packages, with version and hash", async () => {
  const { components } = materialsSchema.parse(JSON.parse(await readFile(made(`model-gateway-${version}.cdx.json`), "utf8")));
  const named = new Set(components.map((each) => `${each.name}@${each.version}`));
  const files = (await imagePackages()).map((name) => path.join(ROOT, "node_modules", name, "package.json"));
  // Those for other machines are not there.
  const read = async (file: string) => packageSchema.parse(JSON.parse(await readFile(file, "utf8")));
  const installed = await Promise.all(files.filter((file) => existsSync(file)).map(read));
  expect(installed.length).toBeGreaterThan(100);
  expect(installed.filter((each) => !named.has(`${each.name}@${each.version}`))).toEqual([]);
  expect(components.filter(({ name }) => name === "vitest")).toEqual([]);
});

test("the packaged chart passes Helm's lint, and installs the release's image from its registry", async () => {
  const input = stringify(EXTERNAL_DATABASE);
  expect(await api().helm(["lint", "--strict", chart(), "--values", "-"], { input })).toContain("0 chart(s) failed");
  const objects = parseObjects(await api().helm(["template", "gw", chart(), "--values", "-"], { input }));
  const images = new Set(podsOf(objects).flatMap(({ containers }) => containers.map(({ image }) => image)));
  expect([...images].filter((image) => !image.includes("envoy"))).toEqual([`registry.example/team/model-gateway:${version}`]);
});

test("the packaged chart contains every file that templates read, and its licence", async () => {
  const { stdout } = await run("tar", ["--list", "--file", chart()]);
  const packed = stdout.split("\n").filter((name) => name !== "" && !name.endsWith("/"));
  const files = await readdir(CHART, { recursive: true, withFileTypes: true });
  const expected = files
    .filter((entry) => entry.isFile() && entry.name !== ".helmignore")
    .map(({ parentPath, name }) => path.join("model-gateway", path.relative(CHART, parentPath), name));
  expect(packed.sort()).toEqual([...expected, "model-gateway/LICENSE"].sort());
});

test("a release is refused if the tree has uncommitted changes", async () => {
  await run("bash", ["-c", "echo '# more' >> charts/model-gateway/values.yaml"], { cwd: directory });
  const again = run(path.join(directory, ".ci/release"), ["--output", path.join(directory, "again"), "--no-image"], {
    cwd: directory,
  });
  await expect(again).rejects.toThrow("commit or stash them");
});

test("a stamped chart refers to the image by its digest everywhere", async () => {
  const read = (file: string) => readFile(path.join(CHART, file), "utf8");
  const digest = `sha256:${"a".repeat(64)}`;
  const stamped = stamp(
    { "Chart.yaml": await read("Chart.yaml"), "values.yaml": await read("values.yaml"), "README.md": await read("README.md") },
    JSON.parse(await read("values.schema.json")),
    { registry: "registry.example:5000/team/llm", digest, source: "https://git.example/model-gateway" },
  );
  const image = { registry: "registry.example:5000", repository: "team/llm/model-gateway", tag: "", digest };
  expect(parse(stamped["values.yaml"])).toMatchObject({ image });
  expect(parse(stamped["files/defaults.yaml"])).toEqual(parse(stamped["values.yaml"]));
  expect(stamped["README.md"]).toContain(`| \`image.digest\` | \`"${digest}"\` |`);
  expect(parse(stamped["Chart.yaml"])).toMatchObject({
    home: "https://git.example/model-gateway",
    sources: ["https://git.example/model-gateway"],
  });
  expect(stamped["Chart.yaml"]).toContain(`image: registry.example:5000/team/llm/model-gateway@${digest}\n`);
});

const chartSchema = z.object({
  version: z.string(),
  icon: z.string(),
  kubeVersion: z.string(),
  keywords: z.array(z.string()).min(3),
  maintainers: z.array(z.object({ name: z.string() })).min(1),
  annotations: z.record(z.string(), z.string()),
});
const metadata = async () => chartSchema.parse(parse(await readFile(path.join(CHART, "Chart.yaml"), "utf8")));

test("Artifact Hub's metadata has each kind that the chart defines, with an example that the API server accepts", async () => {
  const { annotations } = await metadata();
  const listed = z
    .array(z.object({ kind: z.string(), version: z.string(), name: z.string() }))
    .parse(parse(annotations["artifacthub.io/crds"] ?? ""));
  const names = await readdir(path.join(ROOT, "crds"));
  const defined = await Promise.all(
    names.map(async (name) => {
      const { spec, metadata: about } = z
        .object({
          metadata: z.object({ name: z.string() }),
          spec: z.object({ names: z.object({ kind: z.string() }), versions: z.array(z.object({ name: z.string() })) }),
        })
        .parse(parse(await readFile(path.join(ROOT, "crds", name), "utf8")));
      return { kind: spec.names.kind, version: spec.versions.at(-1)?.name, name: about.name };
    }),
  );
  expect(new Set(listed)).toEqual(new Set(defined));
  await api().kubectl(["apply", "--filename", path.join(ROOT, "crds")]);
  await untilEstablished(api());
  for (const name of ["models", "team-a"]) await api().kubectl(["create", "namespace", name]);
  const examples = z.array(z.record(z.string(), z.unknown())).parse(parse(annotations["artifacthub.io/crdsExamples"] ?? ""));
  const input = examples.map((example) => stringify(example)).join("---\n");
  const report = await api().kubectl(["apply", "--dry-run=server", "--validate=strict", "--filename", "-"], { input });
  expect(report.trim().split("\n")).toHaveLength(defined.length);
});

test("Artifact Hub's metadata has each image that the chart can run", async () => {
  const { annotations } = await metadata();
  const listed = z.array(z.object({ image: z.string() })).parse(parse(annotations["artifacthub.io/images"] ?? ""));
  const yaml = await api().helm(["template", "gw", CHART, "--set", "postgres.enabled=true"]);
  const images = podsOf(parseObjects(yaml)).flatMap(({ containers }) => containers.map(({ image }) => image));
  expect(new Set(listed.map(({ image }) => image))).toEqual(new Set(images));
});

test("the chart contains no address of the project unless its publisher has set it", async () => {
  const chart: unknown = parse(await readFile(path.join(CHART, "Chart.yaml"), "utf8"));
  expect(chart).not.toHaveProperty("home");
  expect(chart).not.toHaveProperty("sources");
});

test("the chart's icon is the dashboard's", async () => {
  const [, data = ""] = (await metadata()).icon.split("base64,");
  const icon = await readFile(path.join(REPOSITORY, "dashboard/assets/icon.svg"), "utf8");
  expect(Buffer.from(data, "base64").toString()).toBe(icon.trim());
});

test("the chart's README links to nothing outside the package, and states its version and minimum", async () => {
  const readme = await readFile(path.join(CHART, "README.md"), "utf8");
  const targets = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
  expect(targets.filter((target) => !/^(https:|#)/.test(target))).toEqual([]);
  const chartMetadata = await metadata();
  const [, minimum = "?"] = />=(\d+\.\d+)/.exec(chartMetadata.kubeVersion) ?? [];
  expect(readme).toContain(`model-gateway-${chartMetadata.version}.tgz`);
  expect(readme).toContain(`Kubernetes ${minimum} or later`);
});
