import process from "node:process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import * as z from "zod";
import { SERVED_TOOLS } from "../../clients/table.ts";
import { expectCharged, readUpstreamRequests } from "../support/clients/charged.ts";
import { fetchInstaller, noteIn, type Installer } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { expectResults } from "../support/clients/results.ts";
import { clearJournal } from "../support/servers/simulator-journal.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";
import { casesOf, type Case } from "./cases.ts";

/** Each tool as people have it: set up by the installer, in a home folder of its own, run without a person. */
let stack: TestProduct;
let installer: Installer;
let packages: ClientPackages;
let machine: Machine | undefined;
const results: Record<string, object> = {};

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
  installer = await fetchInstaller(stack);
});
afterAll(() => stack.stop());
afterEach(() => machine?.remove());

async function setUp({ tool, interface: speaks }: Case): Promise<Machine> {
  machine = await createMachine();
  const ran = await installer.run(machine, ["--yes", "--tools", `${tool}:${speaks}`]);
  expect(ran.code, ran.output).toBe(0);
  expect(machine.proxy.hosts()).toEqual([]);
  await machine.write("work/note.txt", "one\ntwo\n");
  await clearJournal(stack.simulatorUrl);
  return machine;
}

describe.for(casesOf({ isNight: inject("isNight") }))("$tool over $interface", (each) => {
  test("answers in text, edits a file, and sends the key only to this service (S2, S31)", async () => {
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
    await expectCharged(stack, before, each.interface);
    const requests = await readUpstreamRequests(stack);
    results[`${each.tool}:${each.interface}`] = {
      text: true,
      stream: requests.some(({ isStreamed }) => isStreamed),
      tools: requests.some(({ hasTools }) => hasTools) && each.editsBy === "tools",
      reasoning: requests.some(({ wantsReasoning }) => wantsReasoning),
      usage: true,
    };
  });
});

test("the observed results match the compatibility table (npm run clients:update)", async () => {
  await expectResults(path.join(import.meta.dirname, "../../clients/results/tools.json"), results);
});

test("the tested versions are those in the table", async () => {
  const lock: unknown = JSON.parse(await readFile(path.join(import.meta.dirname, "node/package.json"), "utf8"));
  const { dependencies } = z.looseObject({ dependencies: z.record(z.string(), z.string()) }).parse(lock);
  const python = await readFile(path.join(import.meta.dirname, "python/aider.txt"), "utf8");
  for (const { tried } of SERVED_TOOLS) {
    if (tried?.registry !== "npm") continue;
    const versions = Object.entries(dependencies).filter(
      ([name]) =>
        name.startsWith(tried.package.replace(/-ai$/, "")) || (name.startsWith(`@cline/cli`) && tried.package === "cline"),
    );
    // A program for one platform may be a version of its own: npm:@openai/codex@0.169.0-linux-x64.
    expect(versions.map(([, version]) => /^(?:npm:.+@)?([\d.]+)/.exec(version)?.[1])).toContain(tried.version);
  }
  expect(python).toContain(`aider-chat==${SERVED_TOOLS.find(({ id }) => id === "aider")?.tried?.version}`);
});
