import { expect, test } from "vitest";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** While a form is shown again with its errors, its own address is in the address bar: people reload, bookmark and share it. */
const postgres = usePostgres();

test("the address of every form leads to its page, and the page of none leads elsewhere", async () => {
  const { database } = await postgres.migrated();
  const { routes, owner, guest } = await openDashboard(database);
  const ann = await owner("ann@example.com");
  const pages = routes.filter(({ method, url }) => method === "GET" && url.startsWith("/dashboard")).map(({ url }) => url);
  const forms = routes.filter(({ method, url }) => method === "POST" && url.startsWith("/dashboard/")).map(({ url }) => url);
  const only = forms.filter((url) => !pages.includes(url));
  expect(only).toEqual(expect.arrayContaining(["/dashboard/credit/redeem", "/dashboard/admin/accounts/:accountId/grant"]));
  for (const url of only) {
    const { statusCode, headers } = await ann.get(`${url.replaceAll(/:\w+/g, "x")}?a=b`);
    expect([url, statusCode]).toEqual([url, 303]);
    const page = String(headers["location"]);
    expect(pages.map((each) => each.replaceAll(/:\w+/g, "x"))).toContain(page);
    expect(url.replaceAll(/:\w+/g, "x").startsWith(`${page}/`)).toBe(true);
  }
  expect((await ann.get("/dashboard/credit/redeem")).headers["location"]).toBe("/dashboard/credit");
  expect((await guest.get("/dashboard/credit/redeem")).headers["location"]).toBe("/dashboard/credit");
  for (const url of ["/dashboard/credit/nothing", "/dashboard/keys/x/nothing", "//example.com/dashboard/credit/redeem"])
    expect([url, (await ann.get(url)).statusCode]).toEqual([url, 404]);
});
