import process from "node:process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { SERVED_TOOLS } from "../../clients/table.ts";
import { fetchInstaller, noteIn, type Installer } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { clearJournal, readJournal } from "../support/simulator-journal.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { CASES, type Case } from "./cases.ts";

/** Each tool as people have it: set up by the installer, in a home folder of its own, run without a person. */
let stack: TestStack;
let installer: Installer;
let packages: ClientPackages;
let machine: Machine | undefined;
const results: Record<string, object> = {};

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await startTestStack();
  installer = await fetchInstaller(stack);
});
afterAll(() => stack.stop());
afterEach(() => machine?.remove());

const requestSchema = z.looseObject({
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  thinking: z.unknown().optional(),
  reasoning_effort: z.unknown().optional(),
});

async function setUp({ tool, interface: speaks }: Case): Promise<Machine> {
  machine = await createMachine();
  const ran = await installer.run(machine, ["--yes", "--tools", `${tool}:${speaks}`]);
  expect(ran.code, ran.output).toBe(0);
  expect(machine.proxy.hosts()).toEqual([]);
  await machine.write("work/note.txt", "one\ntwo\n");
  await clearJournal(stack.simulatorUrl);
  return machine;
}

/** Usage rows since, which must all be whole, on the tool's own interface, and with the upstream's own count. */
async function usageSince(since: number, speaks: string): Promise<void> {
  await stack.idle();
  const rows = await stack.database.query({
    text: `SELECT interface, outcome, is_estimated AS "isEstimated" FROM usage_event ORDER BY settled_at, started_at OFFSET $1`,
    values: [since],
    row: z.strictObject({ interface: z.string(), outcome: z.string(), isEstimated: z.boolean() }),
  });
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toEqual({ interface: speaks, outcome: "complete", isEstimated: false });
}

describe.for(CASES)("$tool over $interface", (each) => {
  test("answers in text, edits a file, and speaks with the key to this service alone (S2, S31)", async () => {
    const { work, run, proxy, read } = await setUp(each);
    const before = await stack.countUsage();
    const [program = "", ...first] = each.program(packages);
    const asked = await run(program, [...first, ...each.ask("Say a word of greeting. [[sim no-tools]]")]);
    expect(asked.output).toContain("This is a simulation of modelx-v4-pro");
    expect(asked.code).toBe(0);

    const edited = await run(program, [...first, ...each.edit(`Change it. ${each.script(noteIn({ work }))}`)]);
    expect(await read("work/note.txt"), edited.output).toBe("one\nthree\n");
    expect(edited.code).toBe(0);

    const known = SERVED_TOOLS.find(({ id }) => id === each.tool);
    for (const host of proxy.hosts()) expect(known?.otherHosts).toContain(host);
    await usageSince(before, each.interface);
    const requests = (await readJournal(stack.simulatorUrl)).map(({ body }) => requestSchema.parse(JSON.parse(body)));
    results[`${each.tool}:${each.interface}`] = {
      text: true,
      stream: requests.some(({ stream }) => stream === true),
      tools: requests.some(({ tools }) => (tools ?? []).length > 0) && each.editsBy === "tools",
      reasoning: requests.some((request) => request.thinking != null || request.reasoning_effort != null),
      usage: true,
    };
  });
});

test("what was seen is what the table of compatibility says (npm run clients:update)", async () => {
  await expect(`${JSON.stringify(results, null, 2)}\n`).toMatchFileSnapshot(
    path.join(import.meta.dirname, "../../clients/results/tools.json"),
  );
});

test("the versions that ran are those of the table", async () => {
  const lock: unknown = JSON.parse(await readFile(path.join(import.meta.dirname, "node/package.json"), "utf8"));
  const { dependencies } = z.looseObject({ dependencies: z.record(z.string(), z.string()) }).parse(lock);
  const python = await readFile(path.join(import.meta.dirname, "python/aider.txt"), "utf8");
  for (const { tried } of SERVED_TOOLS) {
    if (tried?.registry !== "npm") continue;
    const versions = Object.entries(dependencies).filter(
      ([name]) =>
        name.startsWith(tried.package.replace(/-ai$/, "")) || (name.startsWith(`@cline/cli`) && tried.package === "cline"),
    );
    expect(versions.map(([, version]) => version)).toContain(tried.version);
  }
  expect(python).toContain(`aider-chat==${SERVED_TOOLS.find(({ id }) => id === "aider")?.tried?.version}`);
});
