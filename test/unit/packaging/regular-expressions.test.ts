import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { analyse } from "scslre";
import { expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/**
 * Some regular expressions take quadratic time or worse: `/\/+$/` took seconds for a path of 60,000 slashes and a letter. In
 * processes that read what strangers send, each of these must be on text whose length is bounded before.
 */
const ON_SHORT_TEXT: Readonly<Record<string, string>> = {
  "dashboard/billing/amounts.ts: /0+$/": "an amount",
  "dashboard/billing/amounts.ts: /\\B(?=(\\d{3})+$)/g": "an amount",
  "dashboard/main.ts: /\\/+$/": "a setting",
  "dashboard/money.ts: /0+$/": "an amount",
  "dashboard/money.ts: /\\B(?=(\\d{3})+$)/g": "an amount",
  "dashboard/oidc/config.ts: /\\/+$/": "a setting",
  "dashboard/config/sign-up-rules.ts: /\\s*,\\s*/": "a setting",
  "dashboard/views/figures.ts: /0+$/": "an amount",
  "dashboard/views/figures.ts: /\\B(?=(\\d{3})+$)/g": "an amount",
  "dashboard/views/usage/request.ts: /0+$/": "twelve digits",
  "extproc/main.ts: /\\/+$/": "a setting",
  "extproc/protocol/output/guarded-names.ts: /(?=.*(?:max|limit|num|^n(?!o)))(?=.*(?:tok|len|predict|decode|generat))|^max(?:out|output|new|response|answer|completion)$/":
    "a name of at most 64 characters",
  "extproc/protocol/upstream-error-text.ts: /[^\\s\"'=:;,&?()<>[\\]{}]*$/": "at most 2,000 characters",
  "ledger/money.ts: /0+$/": "twelve digits",
  "ledger/people/person-name.ts: /[a-z][a-z0-9+.-]*:\\/\\/|\\bwww\\.|[\\p{L}\\p{N}_-]\\.[\\p{L}][\\p{L}\\p{N}-]/iu":
    "at most 100 characters, or what a sign-in provider says",
  "ledger/people/persons.ts: /^-+|-+$/g": "a name of at most 100 characters",
  "ledger/people/persons.ts: /-+$/": "a name of at most 100 characters",
  "operator/kube/recorder.ts: /[-.]+$/": "the name of a resource",
  "operator/model/duration.ts: /([0-9]+)(ms|h|m|s)/g": "a field of a Model, written by administrators",
  "operator/model/served-model.ts: /\\/+$/": "a field of a Model, written by administrators",
  "operator/rollout.ts: /[,\\s]+$/": "Envoy's own words",
  "operator/source/secret-resource.ts: /^[A-Za-z0-9+/\\s]*={0,2}\\s*$/": "a Secret, of at most 1 MiB, written by administrators",
  "operator/source/upstream-names.ts: /[^a-z0-9]+$/": "the name of a resource",
};

const MOVE_SELF_AND_TRADE = { Move: true, Self: true, Trade: true };

/** As written, in the order in which they stand. */
function regularExpressionsIn(file: string, source: string) {
  const found: { raw: string; source: string; flags: string }[] = [];
  const { program, errors } = parseSync(file, source);
  expect(errors).toEqual([]);
  new Visitor({
    Literal(node) {
      if ("regex" in node) found.push({ raw: node.raw ?? "", source: node.regex.pattern, flags: node.regex.flags });
    },
  }).visit(program);
  return found;
}

test("regular expressions take linear time, except for those on short text", async () => {
  const files = await repositoryFiles("{contract,runtime,ledger,extproc,operator,dashboard}/**/*.ts");
  const all = await Promise.all(
    files.map(async (file) =>
      regularExpressionsIn(file, await readFile(path.join(REPOSITORY, file), "utf8")).map((each) => ({ file, ...each })),
    ),
  );
  expect(all.flat().length).toBeGreaterThan(200);
  const slow = all
    .flat()
    .filter((each) => analyse(each, { reportTypes: MOVE_SELF_AND_TRADE, maxReports: 1 }).reports.length > 0)
    .map(({ file, raw }) => `${file}: ${raw}`);
  expect([...new Set(slow)].toSorted()).toEqual(Object.keys(ON_SHORT_TEXT).toSorted());
});
