import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { prepareVolumes } from "../../../local/compose/volumes.ts";
import { findEnvoy } from "../../../local/envoy.ts";
import { readComposeFile } from "../../support/compose/file.ts";
import { createServiceRunner } from "../../support/compose/run.ts";
import { eventually } from "../../support/eventually.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();

const answerSchema = z.object({ usage: z.object({ completion_tokens: z.number().positive() }) });

test("the services of compose.yaml, with their own commands and environment, answer a request and charge for it", async () => {
  const volumes = await mkdtemp(path.join(tmpdir(), "compose-"));
  onTestFinished(() => rm(volumes, { recursive: true, force: true }));
  await prepareVolumes(volumes, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
  const { database, url } = await postgres.empty();
  const compose = await readComposeFile();
  const runner = await createServiceRunner({
    compose,
    volumes,
    files: ["settings/gateway.env", "envoy/envoy.yaml"],
    databaseUrl: url,
  });

  expect(await runner.finish("migrate")).toContain("The schema is up to date");
  runner.start("simulator");
  // Its model server is on the loopback here, which is no private network.
  runner.start("operator", { environment: { BACKEND_ALLOW_CIDRS: "127.0.0.0/8" } });
  for (const name of ["extproc", "dashboard"]) runner.start(name);
  const program = await findEnvoy({ environment: process.env, onProgress: (line) => console.log(line) });
  runner.start("envoy", { program });
  for (const service of ["operator", "extproc", "dashboard"]) {
    const port = runner.port(Number(compose.services[service]?.environment["ADMIN_PORT"]));
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200), { withinMs: 60_000 });
  }
  const baseUrl = `http://127.0.0.1:${runner.port(8080)}`;

  const printed = await runner.finish("demo");
  const apiKey = /^ {2}key +(\S+)$/m.exec(printed)?.[1] ?? "";
  expect(printed).toContain(`curl -N ${baseUrl}/v1/chat/completions`);
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", messages: [{ role: "user", content: "Hello" }] }),
  });
  expect(response.status, runner.log()).toBe(200);
  answerSchema.parse(await response.json());
  await eventually(async () => {
    const rows = await database.query({
      text: "SELECT charge_nano_usd::text AS charge FROM usage_event",
      row: z.object({ charge: z.string() }),
    });
    expect(rows.map(({ charge }) => BigInt(charge) > 0n)).toEqual([true]);
  });
  // It is shown again, and not made anew.
  expect(await runner.finish("demo")).toContain(apiKey);
});
