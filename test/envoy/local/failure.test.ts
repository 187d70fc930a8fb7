import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { copyPostgresTemplate } from "../../support/billing/postgres-template.ts";
import { eventually } from "../../support/eventually.ts";
import { LOOK_EVERY_MS, makeMigratedHome, makeHome, type LocalProcess, type Home } from "../../support/stacks/local-process.ts";

const READY = /Ctrl-C stops everything/;
const MANIFESTS = fileURLToPath(new URL("../../../local/manifests", import.meta.url));

async function occupiedPort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer();
  server.listen(0, LOOPBACK, () => {
    const address = server.address();
    resolve(typeof address === "object" && address !== null ? address.port : 0);
  });
  onTestFinished(() => void server.close());
  return await promise;
}

/** The sentence on the last line, and nothing that looks like a crash. */
function lastLine(output: string): string {
  expect(output).not.toContain("    at ");
  return output.trim().split("\n").at(-1) ?? "";
}

test("a port in use ends the start with the remedy", async () => {
  const home = await makeHome();
  const port = await occupiedPort();
  const local = await home.start(["--port", String(port)]);
  expect(await local.exited).toBe(1);
  expect(lastLine(local.output())).toBe(
    `Port ${port} is in use: choose another one with --port, or stop the program that uses it.`,
  );
  expect(await home.survivors()).toStrictEqual([]);
});

test("a missing folder of manifests ends the start with the remedy", async () => {
  const home = await makeHome();
  const local = await home.start(["--manifests", path.join(home.directory, "none")]);
  expect(await local.exited).toBe(1);
  expect(lastLine(local.output())).toContain("set --manifests to the folder with your Models");
});

test("an unusable Envoy ends the start with the remedy", async () => {
  const home = await makeHome();
  const local = await home.start([], { ENVOY_BIN: path.join(home.directory, "none") });
  expect(await local.exited).toBe(1);
  expect(lastLine(local.output())).toContain("set it to an Envoy 1.40 or later");
});

test("a part that fails half-way through the start leaves nothing running", async () => {
  const home = await makeMigratedHome();
  const envoy = path.join(home.directory, "envoy");
  const script = '#!/bin/sh\n[ "$1" = --version ] && echo "envoy  version: 0/1.40.0/Clean/RELEASE/BoringSSL" && exit 0\nexit 3\n';
  await writeFile(envoy, script, { mode: 0o755 });
  const local = await home.start([], { ENVOY_BIN: envoy });
  expect(await local.exited).toBe(1);
  expect(lastLine(local.output())).toContain("envoy did not start: it exited with code 3. See its log: ");
  expect(await home.survivors()).toStrictEqual([]);
});

test("a start whose data directory is replaced while it runs stops, and leaves the new one as it is", async () => {
  const home = await makeMigratedHome();
  const first = await home.start();
  await first.shows(READY);
  await rename(home.data, `${home.data}-before`);
  await mkdir(home.data);
  // Its Postgres must not write its own last checkpoint there.
  await copyPostgresTemplate(path.join(home.data, "postgres"));
  expect(await first.exited).toBe(1);
  await first.shows(new RegExp(`^The data directory ${home.data} was removed or replaced while the gateway used it`, "m"));
  expect(first.output()).toMatch(/\nStopped\.\n$/);
  expect(await readdir(home.data)).toEqual(["postgres"]);
  const second = await home.start();
  await second.shows(READY);
  await (
    await asker(second)
  )();
});

test("a start whose database is removed stops, though its data directory and lock are still there", async () => {
  const home = await makeMigratedHome();
  const local = await home.start();
  await local.shows(READY);
  // As rm -r leaves it if a part makes a file in the directory meanwhile.
  await rm(path.join(home.data, "postgres"), { recursive: true });
  expect(await local.exited).toBe(1);
  await local.shows(
    /^The data directory .* was removed or replaced while .*: stopping\. Start again to use what is there now\.$/m,
  );
  expect(await readdir(home.data)).not.toContain("postgres");
  expect(await home.survivors()).toStrictEqual([]);
});

/** @returns what asks the gateway once, and expects an answer. */
async function asker(local: LocalProcess): Promise<() => Promise<void>> {
  const [, baseUrl = ""] = await local.shows(/is ready at (\S+)/);
  const [, apiKey = ""] = await local.shows(/key +(sk-mg-\S+)/);
  return async () => {
    const response = await fetch(`${baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "modelx-v4-pro", messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(response.status).toBe(200);
  };
}

const manifestsIn = ({ directory }: Home) => path.join(directory, "manifests");

describe("one start, and the next one on its data", () => {
  let home: Home;
  let local: LocalProcess;
  let answers: () => Promise<void>;

  beforeAll(async () => {
    home = await makeMigratedHome(afterAll);
    await cp(MANIFESTS, manifestsIn(home), { recursive: true });
    local = await home.start(["--manifests", manifestsIn(home)]);
    await local.shows(READY);
    answers = await asker(local);
  });

  test("an invalid manifest is shown with its file, field and remedy", async () => {
    const model = [
      "apiVersion: modelgateway.dev/v1alpha1",
      "kind: Model",
      "metadata: { name: mine }",
      "spec: { modelName: mine }",
    ];
    await writeFile(path.join(manifestsIn(home), "mine.yaml"), model.join("\n"));
    await local.shows(/operator: mine\.yaml: Model mine: spec\.\w+/);
    await answers();
    await rm(path.join(manifestsIn(home), "mine.yaml"));
  });

  test("restarts a part that dies, shows that, and answers as before", { timeout: 240_000 }, async () => {
    const status = await readFile(path.join(home.data, "postgres", "cluster", "postmaster.pid"), "utf8");
    const pids: Record<string, number> = { ...(await local.parts()), postgres: Number.parseInt(status, 10) };
    for (const name of ["simulator", "operator", "extproc", "dashboard", "envoy", "postgres"] as const) {
      process.kill(pids[name] ?? 0, "SIGKILL");
      await local.shows(new RegExp(`^${name}: it exited with SIGKILL; restarting it in 250 ms …$`, "m"));
      await local.shows(new RegExp(`^${name} is running again\\.$`, "m"));
      await eventually(answers, { withinMs: 30_000 });
    }
  });

  test("kills a part that hangs, restarts it, and answers as before", { timeout: 240_000 }, async () => {
    for (const name of ["extproc", "envoy"]) {
      const runs = new RegExp(`^${name} is running again\\.$`, "gm");
      const before = local.output().match(runs)?.length ?? 0;
      process.kill((await local.parts())[name] ?? 0, "SIGSTOP");
      await local.shows(new RegExp(`^${name}: it stopped responding and was killed; restarting it in \\d+ ms …$`, "m"));
      await expect.poll(() => local.output().match(runs)?.length).toBe(before + 1);
      await eventually(answers, { withinMs: 30_000 });
    }
  });

  test("is left alone by a second one on the same data, which says who uses it", async () => {
    const second = await home.start();
    expect(await second.exited).toBe(1);
    expect(lastLine(second.output())).toContain(`Another start (process ${local.pid}) uses this data directory`);
    await answers();
  });

  test("after the supervisor is killed nothing keeps running, and the next start has the same data", async () => {
    const [, key = ""] = await local.shows(/key +(sk-mg-\S+)/);
    process.kill(local.pid, "SIGKILL");
    await local.exited;
    await eventually(async () => expect(await home.survivors()).toStrictEqual([]), { everyMs: LOOK_EVERY_MS });

    local = await home.start();
    await local.shows(READY);
    expect(local.output()).toContain(key);
    expect(local.output()).not.toContain("left over");
  });

  test("a part that keeps dying stops everything, and the last lines of its log are shown", { timeout: 180_000 }, async () => {
    // Envoy cannot start with this: the next ends are its own.
    await writeFile(path.join(home.data, "envoy.yaml"), "no_such_field: 1\n");
    process.kill((await local.parts())["envoy"] ?? 0, "SIGKILL");
    expect(await local.exited).toBe(1);
    expect(local.output()).toMatch(
      /^envoy did not start: it exited with code 1\..* It exited 6 times in a row; giving up\.\n(  .*\n)*  .*no_such_field/m,
    );
    expect(await home.survivors()).toStrictEqual([]);
  });
});

test("a Ctrl-C during the start leaves nothing running", async () => {
  const home = await makeMigratedHome();
  const local = await home.start();
  await local.shows(/Starting the gateway/);
  process.kill(-local.pid, "SIGINT");
  expect(await local.exited).toBe(0);
  expect(await home.survivors()).toStrictEqual([]);
});
