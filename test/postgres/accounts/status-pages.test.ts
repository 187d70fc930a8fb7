import { expect, test } from "vitest";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** The status page with what administrators write on it, and where customers get help. */
const postgres = usePostgres();
const PATH = "/dashboard/admin/incidents";

async function open(support?: string) {
  const { database } = await postgres.migrated();
  const seller = { name: "Gateway Betriebs GmbH", addressLines: ["10115 Berlin"], taxId: undefined };
  const dashboard = await openDashboard(database, { operator: { seller, support } });
  const admin = await dashboard.admin();
  const publish = (title: string, more: Record<string, string> = {}) =>
    admin.post(PATH, { title, impact: "major", status: "investigating", message: "We are looking into it.", ...more });
  const status = async (query = "") => (await dashboard.guest.get(`/dashboard/status${query}`)).body;
  return { ...dashboard, admin, publish, status };
}

test("an incident is public at once with all of its updates, and closed when it is resolved", async () => {
  const { admin, publish, status } = await open();
  expect(await status()).toContain("All systems operational.");
  expect((await publish("No answers <b>", { message: "First line\r\nsecond & last" })).headers["location"]).toBe(PATH);
  const ongoing = await status();
  expect(ongoing).toContain("There is an ongoing incident.");
  expect(ongoing).toMatch(/Ongoing<[^]*No answers &#60;b&#62;[^]*Major outage[^]*First line<br \/>second &#38; last/);
  const [, id = ""] = /admin\/incidents\/([0-9a-f-]{36})/.exec((await admin.get(PATH)).body) ?? [];
  const update = await admin.post(`${PATH}/${id}`, { status: "resolved", message: "A disk was full." });
  expect(update.headers["location"]).toBe(`${PATH}/${id}`);
  const over = await status();
  expect(over).toContain("All systems operational.");
  expect(over).toMatch(/Past incidents<[^]*No answers[^]*A disk was full\.[^]*First line/);
  expect(over).not.toContain("Ongoing<");
  await admin.post(`${PATH}/${id}`, { status: "monitoring", message: "Again." });
  expect(await status()).toContain("There is an ongoing incident.");
  expect((await admin.get("/dashboard/admin/audit?action=incident")).body).toContain("resolved: No answers &#60;b&#62;");
});

test("an incident with the maximum of updates can still be resolved, and nothing else", async () => {
  const { admin, publish, status } = await open();
  await publish("Slow", { status: "investigating" });
  const [, id = ""] = /admin\/incidents\/([0-9a-f-]{36})/.exec((await admin.get(PATH)).body) ?? [];
  const update = (next: string) => admin.post(`${PATH}/${id}`, { status: next, message: "Still slow." });
  for (let more = 1; more < 50; more++) expect((await update("monitoring")).statusCode).toBe(303);
  const refused = await update("monitoring");
  expect([refused.statusCode, refused.body.includes("Resolve it, and open another one.")]).toEqual([400, true]);
  expect((await update("resolved")).statusCode).toBe(303);
  expect(await status()).toContain("All systems operational.");
  expect((await update("resolved")).statusCode).toBe(400);
});

test("future maintenance is announced, and does not count as an outage", async () => {
  const { publish, status } = await open();
  await publish("New disks", { impact: "maintenance", status: "scheduled", message: "On Sunday, 02:00 UTC." });
  expect(await status()).toMatch(/All systems operational\.[^]*New disks[^]*Maintenance[^]*Scheduled/);
});

test("a missing field of an incident is reported next to it", async () => {
  const { publish, status } = await open();
  for (const [form, words] of [
    [{ title: "" }, "Enter a title."],
    [{ title: "x".repeat(121) }, "Use at most 120 characters."],
    [{ message: "" }, "Enter a message."],
    [{ impact: "none" }, "Choose an impact."],
    [{ status: "none" }, "Choose a status."],
  ] as const) {
    const answer = await publish("Slow", form);
    expect([words, answer.statusCode, answer.body.includes(words)]).toEqual([words, 400, true]);
  }
  expect(await status()).toContain("No past incidents");
});

test("past incidents are listed in pages, on the status page and for administrators", async () => {
  const { admin, publish, status } = await open();
  for (let number = 100; number < 125; number++) await publish(`outage ${number}`, { status: "resolved" });
  const seen: string[] = [];
  let body = await status();
  for (let pages = 0; pages < 5; pages++) {
    seen.push(...(body.match(/outage \d+(?=<\/h3>)/g) ?? []));
    const [, next] = /\?before=([0-9a-f-]{36})/.exec(body) ?? [];
    if (next === undefined) break;
    body = await status(`?before=${next}`);
  }
  expect([seen.length, new Set(seen).size, seen[0], seen.at(-1)]).toEqual([25, 25, "outage 124", "outage 100"]);
  const first = (await admin.get(PATH)).body;
  const [, next = ""] = /before(?:=|&#61;)([0-9a-f-]{36})/.exec(first) ?? [];
  expect((await admin.get(`${PATH}?before=${next}`)).body).toContain("outage 100");
});

test("each model shows its uptime over 30 days", async () => {
  const { database, status } = await open();
  await publishModels(
    database,
    ["modelx-v4-pro", "modelx-unused"].map((name) => ({ model: catalogueModel(name), price: PRICE })),
  );
  await database.execute(
    "INSERT INTO model_hour VALUES ('modelx-v4-pro', date_trunc('hour', now()) - interval '2 days', 1000, 3)",
  );
  const page = await status();
  expect(page).toMatch(/modelx-v4-pro[^]*no recent requests[^]*99\.70% of requests succeeded in the last 30 days/);
  expect(page).toContain("No requests in the last hour. 99.70% succeeded in the last 30 days.");
  expect(page).toMatch(/modelx-unused[^]*"No requests in the last 30 days"[^]*>No requests in the last 30 days\.</);
});

test("the support contact is on its page and on errors, and nowhere if there is none", async () => {
  const { guest, admin } = await open("help@example.com");
  const page = (await guest.get("/dashboard/support")).body;
  expect(page).toContain('href="mailto:help@example.com"');
  expect(page).toContain("Gateway Betriebs GmbH");
  expect((await admin.get("/dashboard/nothing-here")).body).toContain('href="mailto:help@example.com"');
  expect((await guest.get("/dashboard/status")).body).toContain('href="/dashboard/support"');
  const without = await open();
  expect((await without.guest.get("/dashboard/support")).body).toContain("has no support contact");
  expect((await without.guest.get("/dashboard/nothing-here")).body).not.toContain("Need help?");
});
