import { expect, test } from "vitest";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Pages that suggest a model, where few or none of the models converse (S46). */
const postgres = usePostgres();

const RERANK = { model: catalogueModel("acme-rerank", { interfaces: ["rerank"], maxOutputTokens: 0 }), price: PRICE };
const EMBED = { model: catalogueModel("acme-embed", { interfaces: ["embeddings"], maxOutputTokens: 0 }), price: PRICE };

async function open(models: Parameters<typeof publishModels>[1]) {
  const { database } = await postgres.migrated();
  await publishModels(database, models);
  const ann = await (await openDashboard(database)).owner("ann@example.com");
  return async (path: string) => (await ann.get(`/dashboard${path}`)).body;
}

test("without a model for conversations, a new customer gets code for those that there are, and no playground", async () => {
  const get = await open([EMBED, RERANK]);
  const overview = await get("");
  for (const words of ["/v1/embeddings", "acme-embed", "client.rerank(", "acme-rerank"]) expect.soft(overview).toContain(words);
  for (const absent of ["modelx-v4-pro", "/v1/messages", "install.sh", "Open the playground"])
    expect.soft(overview).not.toContain(absent);
  const playground = await get("/playground");
  expect(playground).toContain("No chat models available");
  expect(playground).toContain('href="/dashboard/models">View models');
});

test("code is for interfaces that a model has, and suggests one that converses", async () => {
  const get = await open([EMBED, { model: catalogueModel("acme-gpt", { interfaces: ["chat"] }), price: PRICE }]);
  const overview = await get("");
  expect(overview).toContain("/v1/chat/completions");
  for (const absent of ["modelx-v4-pro", "/v1/messages", "Anthropic SDK", "/v1/embeddings"])
    expect.soft(overview).not.toContain(absent);
  const docs = await get("/docs");
  expect(docs).toContain("acme-gpt");
  expect(docs).not.toContain("acme-embed");
});
