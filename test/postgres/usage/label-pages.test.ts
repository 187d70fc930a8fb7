import { expect, test } from "vitest";
import { END_USER, tagDimension, type Label } from "../../../contract/labels.ts";
import { eraseRequestedLabels } from "../../../ledger/labels/upkeep.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Tags and end users in the pages and in the management API (S47). */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const { accountId } = ann;
  const program = await dashboard.program(accountId, ann.personId, "owner");
  const { publicId: keyId } = await createApiKey(database, { accountId, name: "laptop", pepper: PEPPER });
  const use = async (labels: Label[] = [], changes: Partial<Settlement> = {}) => {
    const settlement = settlementOf({ accountId, keyId }, { labels, ...changes });
    await settle(database, [settlement]);
    return settlement.requestId;
  };
  return { ...dashboard, database, ann, owned: program, keyId, use };
}

const tag = (name: string, value: string): Label => ({ dimension: tagDimension(name), value });
const user = (value: string): Label => ({ dimension: END_USER, value });

/** Without the entities that attributes are written with. */
const plain = (body: string) => body.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

/** Ids of the requests that a page lists. */
function listed(body: string): string[] {
  return [...body.matchAll(/href="\/dashboard\/usage\/requests\/([0-9a-f-]{36})"/g)].map(([, id = ""]) => id);
}

test("an owner turns them on and off, and deletes them; everybody sees the choice, and it is in the activity", async () => {
  const { ann, database, inAccount, use } = await open();
  const viewer = await inAccount(ann.accountId, "viewer");
  expect((await ann.get("/dashboard/settings")).body).toMatch(/Tags and end users[^]*>Off<[^]*Turn on/);
  expect((await viewer.get("/dashboard/settings")).body).not.toContain("Turn on");
  await use([tag("team", "search")]);
  await ann.post("/dashboard/settings/tags", { isOn: "yes" });
  await ann.post("/dashboard/settings/tags", { isOn: "yes" });
  const kept = await use([tag("team", "search")]);
  const { body } = await ann.get("/dashboard/settings");
  expect(body).toMatch(/badge active">On<[^]*Turn off and delete all/);
  expect((await ann.get("/dashboard/settings/tags/delete")).body).toContain("Delete all tags and end users?");
  expect(listed((await ann.get("/dashboard/usage/requests?tag=team%3Dsearch")).body)).toEqual([kept]);

  await ann.post("/dashboard/settings/tags", { isOn: "no" });
  await use([tag("team", "search")]);
  expect(listed((await ann.get("/dashboard/usage/requests?tag=team%3Dsearch")).body)).toEqual([kept]);
  await ann.post("/dashboard/settings/tags/delete");
  expect((await ann.get("/dashboard/settings")).body).toContain("Off, deleting");
  await eraseRequestedLabels(database);
  expect(listed((await ann.get("/dashboard/usage/requests?tag=team%3Dsearch")).body)).toEqual([]);
  const actions = await listActions(database, { accountId: ann.accountId, action: "account", limit: 9 });
  expect(actions.map(({ action }) => action)).toEqual(["account.tags_deleted", "account.tags_off", "account.tags_on"]);
});

test("logs, a request's page and its files show tags and end users, and nothing of it where there are none", async () => {
  const { ann, use } = await open();
  const path = "/dashboard/usage/requests";
  await use();
  const before = await ann.get(path);
  expect(before.body).not.toMatch(/End user|data-label="Tags"/);
  expect((await ann.get("/dashboard/usage/csv/requests")).body).not.toContain("end_user");

  await ann.post("/dashboard/settings/tags", { isOn: "yes" });
  const evil = '"><script>alert(1)</script>';
  const both = await use([tag("team", evil), tag("env", "prod"), user("=cmd|' /C calc'!A0")]);
  const other = await use([tag("env", "prod")]);
  const { body } = await ann.get(path);
  expect(body).toContain('data-label="Tags"');
  expect(body).not.toContain("<script>alert");
  const get = async (query: string) => listed((await ann.get(`${path}?${query}`)).body);
  expect(await get("tag=env%3Dprod")).toEqual([other, both]);
  expect(await get(`tag=${encodeURIComponent(`team=${evil}`)}`)).toEqual([both]);
  expect(await get(`end_user=${encodeURIComponent("=cmd|' /C calc'!A0")}&tag=env%3Dprod`)).toEqual([both]);
  // An impossible filter is ignored on the page, and refused for a file.
  expect(await get("tag=none")).toHaveLength(3);
  expect((await ann.get("/dashboard/usage/csv/requests?tag=none")).statusCode).toBe(400);

  const page = (await ann.get(`${path}/${both}`)).body;
  expect(page).toMatch(/<dt>End user<\/dt>[^]*<dt>Tag env<\/dt>[^]*prod/);
  expect(page).not.toContain("<script>alert");
  const csv = (await ann.get("/dashboard/usage/csv/requests?tag=env%3Dprod")).body;
  expect(csv.split("\r\n")[0]).toMatch(/,end_user,tags$/);
  // A spreadsheet must not run it.
  expect(csv).toContain("'=cmd|");
  expect((await ann.get("/dashboard/usage/json/requests")).json()).toMatchObject([
    { request_id: other, end_user: "", tags: "env=prod" },
    { request_id: both, end_user: "=cmd|' /C calc'!A0", tags: `env=prod, team=${evil}` },
    { end_user: "", tags: "" },
  ]);
});

test("usage is grouped by tag and by end user, in the chart, in a table and in files", async () => {
  const { ann, database, use } = await open();
  await ann.post("/dashboard/settings/tags", { isOn: "yes" });
  await use([], { chargeNanoUsd: 5n });
  expect(plain((await ann.get("/dashboard/usage")).body)).not.toMatch(/by=tag|by=user/);
  for (let number = 0; number < 8; number++) await use([tag("team", `team-${number}`), tag("env", "prod"), user("u-1")]);
  const offered = plain((await ann.get("/dashboard/usage")).body);
  expect(offered).toContain("by=tag");
  expect(offered).toContain("by=user");

  const byTeam = plain((await ann.get("/dashboard/usage?range=today&by=tag&tag=team")).body);
  expect(byTeam).toMatch(/By tag: team[^]*team-0[^]*team-7[^]*Without this tag/);
  expect(byTeam).toContain("All others");
  expect(byTeam).toMatch(/<option selected>team<\/option>/);
  expect(byTeam).toContain("/dashboard/usage/requests?range=today&tag=team%3Dteam-3");
  // By hour from the requests, while they are there; after that by day.
  expect(byTeam).toContain("USD by hour and tag team");
  await database.execute("DELETE FROM usage_label WHERE value = 'team-3'");
  const later = plain((await ann.get("/dashboard/usage?range=today&by=tag&tag=team")).body);
  expect(later).toContain("USD by day and tag team");
  const byUser = (await ann.get("/dashboard/usage?by=user")).body;
  expect(byUser).toMatch(/By end user[^]*u-1[^]*No end user/);
  // A tag that there is not is another one that there is.
  expect((await ann.get("/dashboard/usage?by=tag&tag=none")).body).toContain("By tag: env");

  const csv = (await ann.get("/dashboard/usage/csv/labels?range=today&group_by=tag%3Ateam")).body.trim().split("\r\n");
  expect(csv).toHaveLength(9);
  expect(csv[0]).toMatch(/^value,is_other,requests,/);
  expect((await ann.get("/dashboard/usage/json/labels?group_by=end_user")).json()).toMatchObject([
    { end_user: "u-1", is_other: false, requests: 8 },
  ]);
  expect((await ann.get("/dashboard/usage/json/labels?group_by=team")).statusCode).toBe(400);
});

test("the management API has the same settings, filters and groups", async () => {
  const { owned: program, database, ann, keyId, use } = await open();
  expect((await program.call("PUT", "/api/v1/attribution", { is_on: true })).json()).toEqual({
    is_on: true,
    is_deleting: false,
    kept_days: 400,
  });
  await use([], { chargeNanoUsd: 5n });
  const first = await use([tag("team", "search"), user("u-1")], { chargeNanoUsd: 100n });
  const second = await use([tag("team", "ads"), user("u-1")], { chargeNanoUsd: 30n });
  expect((await program.get("/api/v1/usage/tags")).json()).toEqual({ data: [{ name: "team" }] });
  const groups = (await program.get("/api/v1/usage/groups?group_by=tag:team&limit=1")).json();
  expect(groups).toMatchObject({
    data: [{ value: "search", is_other: false, requests: 1, amount: "0.000000100" }],
    without: { requests: 1, amount: "0.000000005" },
    next_cursor: expect.any(String),
  });
  expect((await program.get(`/api/v1/usage/groups?group_by=tag:team&cursor=${groups.next_cursor}`)).json()).toMatchObject({
    data: [{ value: "ads" }],
    next_cursor: null,
  });
  expect((await program.get(`/api/v1/usage/groups?group_by=end_user&key=${keyId}&model=modelx-v4-pro`)).json()).toMatchObject({
    data: [{ value: "u-1", requests: 2 }],
    without: { requests: 1 },
  });
  expect((await program.get("/api/v1/usage?tag=team=search")).json()).toMatchObject({
    data: [{ requests: 1, amount: "0.000000100" }],
  });
  expect((await program.get("/api/v1/usage/requests?end_user=u-1")).json()).toMatchObject({
    data: [
      { id: second, tags: { team: "ads" }, end_user: "u-1" },
      { id: first, tags: { team: "search" }, end_user: "u-1" },
    ],
  });
  for (const [path, field] of [
    ["usage/groups?group_by=team", "group_by"],
    ["usage/groups?group_by=end_user&cursor=none", "cursor"],
    ["usage?tag=team", "tag"],
    ["usage?tag=a=b&end_user=c", "tag"],
    ["usage/requests?tag=team", "tag"],
  ] as const) {
    const refused = await program.get(`/api/v1/${path}`);
    expect([refused.statusCode, refused.json().error.field]).toEqual([400, field]);
  }
  expect((await program.call("DELETE", "/api/v1/attribution")).json()).toMatchObject({ is_on: false, is_deleting: true });
  expect((await program.call("PUT", "/api/v1/attribution", { is_on: true })).statusCode).toBe(400);
  await eraseRequestedLabels(database);
  expect((await program.get("/api/v1/usage/tags")).json()).toEqual({ data: [] });
  expect((await program.get("/api/v1/usage")).json()).toMatchObject({ data: [{ requests: 3 }] });
  expect((await ann.get("/dashboard/usage")).statusCode).toBe(200);
});
