import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { composeBootstrap } from "../../../local/compose/bootstrap.ts";
import { prepareVolumes, VOLUMES } from "../../../local/compose/volumes.ts";
import { mountsOf, programOf, readComposeFile, type ComposeFile } from "../../support/compose/file.ts";
import { tablesBelow } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

let compose: ComposeFile;
beforeAll(async () => {
  compose = await readComposeFile();
});

/** The programs of this repository, and where docs/configuration.md has their variables. */
const HEADINGS: Readonly<Record<string, string>> = {
  "operator/main.ts": "operator",
  "extproc/main.ts": "extproc",
  "dashboard/main.ts": "dashboard",
  "ledger/migrate-command/main.ts": "ledger commands",
  "local/simulator/main.ts": "simulated model server",
  "local/compose/demo-command/main.ts": "demo command",
};
/** What the prepare command writes for `node --env-file`. */
const FROM_FILE = ["DATABASE_URL", "KEY_PEPPER"];

test("every program of compose.yaml exists, and gets the variables that it knows, including all required ones", async () => {
  const page = await readFile(path.join(REPOSITORY, "docs/configuration.md"), "utf8");
  const programs = Object.values(compose.services).flatMap((service) => {
    const program = programOf(service);
    return program === undefined ? [] : [{ program: program.file, service }];
  });
  expect(programs.map(({ program }) => program).toSorted()).toEqual(
    [...Object.keys(HEADINGS), "local/compose/prepare-command/main.ts"].toSorted(),
  );
  for (const { program, service } of programs) {
    await access(path.join(REPOSITORY, program));
    const heading = HEADINGS[program];
    const [table = []] = heading === undefined ? [] : tablesBelow(page, heading);
    const known = table.map(([name = ""]) => name);
    const required = table.filter(([, value]) => value === "required").map(([name = ""]) => name);
    const given = Object.keys(service.environment);
    const fromFile = service.entrypoint.includes("--env-file=/settings/gateway.env") ? FROM_FILE : [];
    expect(
      given.filter((name) => !known.includes(name)),
      program,
    ).toEqual([]);
    expect(
      required.filter((name) => ![...given, ...fromFile].includes(name)),
      program,
    ).toEqual([]);
  }
});

test("each image contains the program that its service runs", async () => {
  const dockerfile = await readFile(path.join(REPOSITORY, "Dockerfile"), "utf8");
  const stages = dockerfile.split(/^FROM /m).slice(1);
  const last = stages.at(-1) ?? "";
  for (const [name, service] of Object.entries(compose.services)) {
    const program = programOf(service);
    if (program === undefined) continue;
    const { target } = service.build ?? {};
    const stage = target === undefined ? last : (stages.find((each) => each.includes(` AS ${target}\n`)) ?? "");
    expect(stage, name).toMatch(
      program.isBundled ? /^COPY --from=bundles \/app\/dist dist$/m : new RegExp(`^COPY ${program.file.split("/")[0]} `, "m"),
    );
    expect(service.image.split(":")[0], name).toBe(target === undefined ? "model-gateway" : `model-gateway-${target}`);
  }
});

test("only the loopback address is published, and only by Envoy", () => {
  const published = Object.entries(compose.services).flatMap(([name, { ports }]) => ports.map((port) => [name, port]));
  expect(published).toEqual([["envoy", "127.0.0.1:8080:8080"]]);
});

test("Envoy and Postgres are those of the chart", async () => {
  const image = z
    .object({ registry: z.string(), repository: z.string(), tag: z.string() })
    .transform(({ registry, repository, tag }) => `${registry}/${repository}:${tag}`);
  const values = z
    .object({ gateway: z.object({ envoy: z.object({ image }) }), postgres: z.object({ image }) })
    .parse(parse(await readFile(path.join(REPOSITORY, "charts/model-gateway/values.yaml"), "utf8")));
  const { envoy, postgres } = compose.services;
  expect(envoy?.image).toBe(values.gateway.envoy.image);
  expect(postgres?.image).toBe(values.postgres.image);
});

test("the file contains no secret", () => {
  const names = Object.values(compose.services).flatMap(({ environment }) => Object.keys(environment));
  expect(names.filter((name) => /PASSWORD|PEPPER|SECRET|KEY|DATABASE_URL/.test(name))).toEqual(["POSTGRES_PASSWORD_FILE"]);
});

test("every volume is declared, and the prepare command sees those that it fills", () => {
  const used = Object.values(compose.services).flatMap((service) => mountsOf(service).map(({ source }) => source));
  const volumes = [...new Set(used)].filter((source) => !source.startsWith("."));
  expect(volumes.toSorted()).toEqual(Object.keys(compose.volumes).toSorted());
  const { prepare } = compose.services;
  expect(prepare && mountsOf(prepare)).toEqual(
    Object.values(VOLUMES).map((source) => ({ source, target: `/volumes/${source}`, isReadOnly: false })),
  );
});

test("Envoy's bootstrap names services that share a network with Envoy, and sockets in a volume that it shares", () => {
  const bootstrap = JSON.stringify(composeBootstrap());
  const { envoy } = compose.services;
  const hosts = [...bootstrap.matchAll(/"address":"([a-z][a-z-]*)"/g)].map(([, host = ""]) => host);
  expect([...new Set(hosts)]).toEqual(["dashboard"]);
  const shared = compose.services["dashboard"]?.networks.filter((network) => envoy?.networks.includes(network));
  expect(shared).not.toEqual([]);

  const sockets = [...bootstrap.matchAll(/"pipe":\{"path":"([^"]+)"/g)].map(([, socket = ""]) => socket);
  const listening = [
    compose.services["extproc"]?.environment["EXTPROC_LISTEN"]?.replace(/^unix:/, ""),
    compose.services["operator"]?.environment["XDS_SOCKET"],
    compose.services["extproc"]?.environment["EARLY_ANSWERS_ADDRESS"]?.replace(/^unix:/, ""),
    compose.services["extproc"]?.environment["BATCHES_ADDRESS"]?.replace(/^unix:/, ""),
  ];
  expect(new Set(sockets)).toEqual(new Set(listening));
  for (const name of ["envoy", "extproc", "operator"]) {
    const service = compose.services[name];
    expect(service && mountsOf(service), name).toContainEqual({
      source: VOLUMES.sockets,
      target: path.dirname(sockets[0] ?? ""),
      isReadOnly: false,
    });
  }
});

test("secrets are created once, and only their owner can read them", async () => {
  const root = await mkdtemp(path.join(tmpdir(), "gateway-volumes-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await prepareVolumes(root, owner);
  const settings = await readFile(path.join(root, "settings/gateway.env"), "utf8");
  expect(settings).toMatch(/^DATABASE_URL=postgresql:\/\/gateway:[\w-]{32}@postgres:5432\/gateway\nKEY_PEPPER=[\w+/]{43}=\n$/);
  await prepareVolumes(root, owner);
  expect(await readFile(path.join(root, "settings/gateway.env"), "utf8")).toBe(settings);
  expect(parse(await readFile(path.join(root, "envoy/envoy.yaml"), "utf8"))).toEqual(
    JSON.parse(JSON.stringify(composeBootstrap())),
  );
});
