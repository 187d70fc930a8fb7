import { readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { createCommand } from "../../../local/options.ts";
import { tablesBelow } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** docs/configuration.md against the sources that read the environment. */
let page: string;
beforeAll(async () => {
  page = await source("docs/configuration.md");
});

/** Spread by each program that uses Postgres. */
const DATABASE = "ledger/postgres/database-url.ts";
/** For programs that look at the address of a client. */
const TRUSTED_PROXIES = "runtime/trusted-proxies.ts";
/** For programs that record prompts, and let people choose that. */
const PROMPT_LOG = "contract/prompt-log.ts";
const PROCESSES = [
  { heading: "extproc", files: [DATABASE, TRUSTED_PROXIES, PROMPT_LOG, "extproc/main.ts"] },
  { heading: "operator", files: [DATABASE, "operator/main.ts"] },
  {
    heading: "dashboard",
    files: [
      DATABASE,
      "dashboard/main.ts",
      "dashboard/mail/mailer.ts",
      "dashboard/oidc/config.ts",
      "dashboard/oidc/provider-domains.ts",
      "dashboard/config/operator.ts",
      "dashboard/payments/payments.ts",
      "dashboard/config/second-factor-policy.ts",
      "dashboard/config/sign-up-rules.ts",
      TRUSTED_PROXIES,
      PROMPT_LOG,
      "dashboard/outbound/networks.ts",
    ],
  },
  { heading: "drain command", files: ["extproc/drain-command/main.ts"] },
  { heading: "ledger commands", files: [DATABASE, "ledger/check-command/main.ts"] },
  { heading: "simulated model server", files: ["local/simulator/main.ts"] },
  { heading: "demo command", files: ["local/compose/demo-command/main.ts"] },
];

test.for(PROCESSES)("the variables of $heading, and their defaults, are those that it reads", async ({ heading, files }) => {
  const sources = await Promise.all(files.map(source));
  const read = sources.flatMap(variablesIn).toSorted(byName);
  const [table = []] = tablesBelow(page, heading);
  expect(table.map(([name = "", value = ""]) => ({ name, value })).toSorted(byName)).toEqual(read);
});

test("every program that reads its environment has a section", async () => {
  const programs = await repositoryFiles("{contract,runtime,ledger,extproc,operator,dashboard,local}/**/*.ts");
  const texts = await Promise.all(programs.map(async (name) => ({ name, text: await source(name) })));
  const readers = texts.filter(({ text }) => /\breadEnvOrExit\(\{?\s/.test(text)).map(({ name }) => name);
  const ledgerCommands = readers.filter((name) => name.startsWith("ledger/"));
  const documented = PROCESSES.flatMap(({ files }) => files.filter((name) => name.endsWith("main.ts")));
  expect(readers.toSorted()).toEqual([...new Set([...documented, ...ledgerCommands])].toSorted());
  for (const name of ledgerCommands) {
    const text = await source(name);
    expect(variablesIn(text), name).toEqual([]);
    expect(text, name).toContain("readEnvOrExit({ ...DATABASE_VARIABLES }, process.env)");
    expect(page).toContain(path.basename(path.dirname(name)));
  }
  const spread = texts.filter(({ text }) => /\b[A-Z_]+_VARIABLES = \{/.test(text)).map(({ name }) => name);
  expect(PROCESSES.flatMap(({ files }) => files)).toEqual(expect.arrayContaining(spread));
});

test("the flags of npm start, and their defaults, are those that it takes", () => {
  const { options } = createCommand(() => {});
  const [flags = []] = tablesBelow(page, "npm start");
  expect(flags.map(([flag, value]) => [flag, value])).toEqual(
    options.map((option) => [option.flags, option.defaultValue === undefined ? "–" : String(option.defaultValue)]),
  );
});

test("the variables of npm start are those that it looks at", async () => {
  const files = await repositoryFiles("local/**/*.ts");
  const texts = await Promise.all(files.map(source));
  const [, variables = []] = tablesBelow(page, "npm start");
  const documented = variables.flatMap(([names = ""]) => names.split(", "));
  expect(documented.toSorted()).toEqual([...new Set(texts.flatMap(lookedAt))].toSorted());
});

/** `environment.NAME`, `environment["NAME"]`, `process.env.NAME` and `{ NAME = "" } = environment`. */
function lookedAt(text: string): string[] {
  const single = [...text.matchAll(/\b(?:environment|process\.env)(?:\.|\[")([A-Z_]{2,})\b/g)].map(([, name = ""]) => name);
  const several = [...text.matchAll(/\{ ([^{}]*) \} = environment;/g)].flatMap(
    ([, names = ""]) => names.match(/\b[A-Z_]{2,}\b/g) ?? [],
  );
  return [...single, ...several];
}

/** Each `NAME: schema,` of a file that reads its environment with zod, and its default as the page writes it. */
function variablesIn(text: string): { name: string; value: string }[] {
  const starts = [...text.matchAll(/^ {2,4}([A-Z][A-Z_]+): (?!")|readEnvOrExit\(\{ ([A-Z][A-Z_]+): /gm)];
  return starts.map((match, index) => {
    const schema = text.slice(match.index, starts[index + 1]?.index ?? text.indexOf("process.env", match.index));
    return { name: match[1] ?? match[2] ?? "", value: defaultOf(schema) };
  });
}

function defaultOf(schema: string): string {
  const [, nanoUsd] = /\.default\(([\d_]+)n\)/.exec(schema) ?? [];
  if (nanoUsd !== undefined) return String(Number(nanoUsd.replaceAll("_", "")) / 1e9);
  const [, written] = /\.default\(([^)]*)\)/.exec(schema) ?? [];
  if (written !== undefined) {
    const plain = written.replaceAll(/^"|"$|(?<=\d)_(?=\d)/g, "");
    return plain === "" || plain === "[]" ? "empty" : plain;
  }
  return schema.includes(".optional()") ? "–" : "required";
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function source(name: string): Promise<string> {
  return readFile(path.join(REPOSITORY, name), "utf8");
}
