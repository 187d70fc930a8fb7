import { expect, test } from "vitest";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

/** Where an empty list leads. */
const NEXT_STEPS = [
  ["/dashboard/prompt-log", "/dashboard/keys"],
  ["/dashboard/batches", "/dashboard/models"],
] as const;

test("an empty list leads to where its first entry comes from (S27)", async () => {
  const { database } = await postgres.migrated();
  const { owner } = await openDashboard(database);
  const ann = await owner("ann@example.com");
  for (const [page, next] of NEXT_STEPS) {
    const [, card = ""] = /<div class="card empty">([^]*?)<\/div>/.exec((await ann.get(page)).body) ?? [];
    expect([page, card.includes(`href="${next}"`)]).toEqual([page, true]);
  }
});

test("an empty list of requests blames filters only if there are any (S27)", async () => {
  const { database } = await postgres.migrated();
  const { owner } = await openDashboard(database);
  const ann = await owner("ann@example.com");
  expect((await ann.get("/dashboard/usage/requests")).body).toContain("No requests in this period");
  expect((await ann.get("/dashboard/usage/requests?outcome=refused")).body).toContain(
    "Try a longer date range or fewer filters.",
  );
});
