import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { guideOf } from "../../clients/guide.ts";
import { guideMarkdown } from "../../clients/markdown.ts";
import { offer } from "../../clients/models.ts";
import { overviewMarkdown } from "../../clients/overview.ts";
import { TOOLS } from "../../clients/table.ts";
import { toolSchema } from "../../clients/tool.ts";

const FOLDER = join(import.meta.dirname, "../../docs/clients");

/** The service's usual models, where a page of the dashboard has those that are served. */
const MODELS = offer([
  {
    name: "modelx-v4-pro",
    interfaces: ["chat", "messages", "responses"],
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    outputPrice: 15n,
  },
  { name: "modelx-v4-flash", interfaces: ["chat", "messages"], contextWindow: 200_000, maxOutputTokens: 32_000, outputPrice: 1n },
]);

test.for(TOOLS)("the page of $name matches the table (npm run clients:update)", async (tool) => {
  const page = guideMarkdown(guideOf(tool, { baseUrl: "{base_url}", models: MODELS }));
  await expect(page).toMatchFileSnapshot(join(FOLDER, `${tool.id}.md`));
});

test("the overview shows what the tests of the tools have observed", async () => {
  await expect(overviewMarkdown()).toMatchFileSnapshot(join(FOLDER, "README.md"));
});

test("every tool has a page, and there are no others", () => {
  const pages = readdirSync(FOLDER).filter((name) => name !== "README.md");
  expect(pages.toSorted()).toEqual(TOOLS.map(({ id }) => `${id}.md`).toSorted());
});

test("every tool of the table is well-formed", () => {
  for (const tool of TOOLS) expect(toolSchema.parse(tool)).toEqual(tool);
  expect(new Set(TOOLS.map(({ id }) => id)).size).toBe(TOOLS.length);
});
