import { expect, test } from "vitest";
import * as z from "zod";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

test("the references in the product list every operation of both APIs, with nested fields, for guests too", async () => {
  const { database } = await postgres.migrated();
  const { guest } = await openDashboard(database);
  const api = await guest.get("/dashboard/docs/api");
  expect(api.statusCode).toBe(200);
  for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/models/{id}", "/v1/usage"])
    expect(api.body).toContain(`<code>${path}</code>`);
  expect(api.body).toContain("stream_options.include_usage");
  const management = await guest.get("/dashboard/docs/management-api");
  expect(management.statusCode).toBe(200);
  const described = z
    .object({ paths: z.record(z.string(), z.unknown()) })
    .parse((await guest.get("/api/v1/openapi.json")).json());
  const paths = Object.keys(described.paths);
  expect(paths.length).toBeGreaterThan(5);
  for (const path of paths) expect(management.body).toContain(`<code>${path}</code>`);
  expect(management.body).toContain("spent.this_month");
  const source = await guest.get("/dashboard/docs/openapi.yaml");
  expect(source.body).toMatch(/^openapi: 3\.1\.0/);
});

test("the quickstart shows the default model in the chosen language", async () => {
  const { database } = await postgres.migrated();
  const { guest } = await openDashboard(database);
  expect((await guest.get("/dashboard/docs")).body).toContain("No models are available yet.");
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  expect((await guest.get("/dashboard/docs")).body).toContain("curl http");
  const python = await guest.get("/dashboard/docs?language=python");
  expect(python.body).toContain("from openai import OpenAI");
  expect(python.body).toContain("modelx-v4-pro");
});
