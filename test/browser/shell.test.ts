import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { publishModels } from "../../ledger/models/catalogue.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { catalogueModel, PRICE, settlementOf } from "../support/billing/ledger.ts";
import { PASSWORD } from "../support/dashboard/people.ts";
import { useForAMonth } from "./harness-month.ts";
import { useService } from "./harness-service.ts";
import { makeKey, openAccountMenu, signIn } from "./harness-steps.ts";
import type { VisitOptions } from "./harness-visit.ts";

/** What all pages share: navigation, theme, menus, toasts and charts. */
const openService = useService();
const EMAIL = "ann@example.com";

async function open(options: Omit<VisitOptions, "baseUrl"> = {}) {
  const service = await openService();
  const { accountId } = await service.owner(EMAIL);
  const made = await service.visit(options);
  await signIn(made.page, EMAIL, PASSWORD);
  await made.page.waitForURL("**/dashboard");
  return { ...service, ...made, accountId };
}

const themeOf = (page: Page) => page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme");

test("a chosen theme applies to other pages and after signing out, whatever the system's theme", async () => {
  const { page, look } = await open({ scheme: "dark" });
  expect(await themeOf(page)).toBe("light dark");
  await page.getByRole("button", { name: "Light theme" }).click();
  expect(await themeOf(page)).toBe("light");
  await page.goto("/dashboard/keys");
  expect(await themeOf(page)).toBe("light");
  await openAccountMenu(page);
  await look("account-menu");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/dashboard/sign-in");
  expect(await themeOf(page)).toBe("light");
  await page.getByRole("button", { name: "System theme" }).click();
  expect(await themeOf(page)).toBe("light dark");
});

test("a page is printed over the paper's width, without controls, and dark on white", async () => {
  const { page } = await open({ scheme: "dark" });
  await page.getByRole("button", { name: "Dark theme" }).click();
  await page.goto("/dashboard/usage");
  await page.emulateMedia({ media: "print" });
  const width = await page.locator("main").evaluate((element) => element.getBoundingClientRect().width);
  expect(width).toBeGreaterThan(1000);
  expect(await themeOf(page)).toBe("light");
  for (const name of ["View logs", "Performance", "7 days"])
    expect(await page.getByRole("link", { name }).isVisible(), name).toBe(false);
  expect(await page.getByRole("link", { name: "30 days" }).isVisible()).toBe(true);
  await page.goto("/dashboard/credit");
  await page.emulateMedia({ media: "print" });
  for (const name of ["Redeem", "Save", "Turn on", "Continue to add a card"])
    expect(await page.getByRole("button", { name }).isVisible(), name).toBe(false);
  const empty = '[...document.querySelectorAll("input[placeholder]")]';
  const colours = await page.evaluate(`${empty}.map((field) => getComputedStyle(field, "::placeholder").color)`);
  expect(colours).toEqual(["rgba(0, 0, 0, 0)", "rgba(0, 0, 0, 0)", "rgba(0, 0, 0, 0)"]);
});

test("a row's menu opens and closes, and the result of its form is shown once, on the next page", async () => {
  const { page, look, complaints } = await open();
  await makeKey(page, "laptop");
  await page.goto("/dashboard/keys");
  const disable = page.getByRole("link", { name: "Disable laptop" });
  await page.getByLabel("Actions for laptop").click();
  await look("row-menu");
  await page.keyboard.press("Escape");
  expect(await disable.isVisible()).toBe(false);
  await page.getByLabel("Actions for laptop").click();
  await disable.click();
  const dialog = page.getByRole("dialog", { name: "Disable laptop?" });
  await dialog.waitFor();
  await look("ask-first");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.getByLabel("Actions for laptop").click();
  await disable.click();
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByLabel("Actions for laptop").click();
  await disable.click();
  await dialog.getByRole("button", { name: "Disable key" }).click();
  const toast = page.getByText("Key “laptop” disabled.");
  await toast.waitFor();
  await look("toast");
  await page.getByRole("button", { name: "Dismiss" }).click();
  expect(await toast.count()).toBe(0);
  await page.reload();
  expect(await toast.count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("a field of a dialog has its label and its help, even if the page behind it has a field of the same name", async () => {
  const { page } = await open();
  await page.goto("/dashboard/settings");
  await page.getByRole("link", { name: "Close account" }).click();
  const typed = page.getByRole("dialog").getByRole("textbox", { name: /^Enter “.*” to confirm$/ });
  await typed.waitFor();
  expect(await typed.evaluate((element) => element.matches(":focus"))).toBe(true);
  await page.keyboard.press("Escape");
  expect(await page.getByRole("link", { name: "Close account" }).evaluate((link) => link.matches(":focus"))).toBe(true);
});

test.for([true, false])(
  "on a phone the navigation is hidden until its button is pressed; with scripts: %s",
  async (hasScript) => {
    const { page, look } = await open({ device: "phone", hasScript });
    const link = page.getByRole("link", { name: "API keys" });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole("button", { name: "Menu" }).click();
    await look(`navigation-${hasScript}`);
    await link.click();
    await page.waitForURL("**/dashboard/keys");
    expect(await link.isVisible()).toBe(false);
  },
);

test("on a low screen the account's menu and the current section are in sight", async () => {
  const { page, complaints } = await open();
  await page.setViewportSize({ width: 1280, height: 560 });
  await page.goto("/dashboard/settings");
  const isInSight = (selector: string) =>
    page.locator(selector).evaluate((element) => {
      const { left, top, bottom } = element.getBoundingClientRect();
      return [top + 1, bottom - 1].every((y) => element.contains(element.ownerDocument.elementFromPoint(left + 20, y)));
    });
  expect(await isInSight("details.account-menu summary")).toBe(true);
  expect(await isInSight(".sidebar nav [aria-current]")).toBe(true);
  expect(await isInSight(".sidebar nav a >> nth=0")).toBe(false);
  expect(complaints).toEqual([]);
});

test("the label of a button that copies is in its middle, whatever follows it for screen readers", async () => {
  const { page } = await open();
  await page.goto("/dashboard/nothing-here");
  const label = page.getByRole("button", { name: "Copy request ID" });
  const gaps = await label.evaluate((button) => {
    const range = button.ownerDocument.createRange();
    range.selectNodeContents(button.childNodes[0] ?? button);
    const [outer, inner] = [button.getBoundingClientRect(), range.getBoundingClientRect()];
    return [inner.left - outer.left, outer.right - inner.right];
  });
  expect(gaps[0]).toBeGreaterThan(0);
  expect(gaps[1]).toBeCloseTo(gaps[0] ?? 0, 0);
});

test("the first field with an error is focused and in sight, and every kind of field is marked", async () => {
  const { page, look, complaints } = await open();
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await page.getByLabel("Allowed addresses").fill("10.1.2.3/8");
  await page.getByLabel("Daily spend (USD)").fill("a few");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Enter an amount in USD").waitFor();
  const addresses = page.getByLabel("Allowed addresses");
  expect(await addresses.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  const colourOf = (label: string) =>
    page.getByLabel(label).evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).borderBottomColor);
  expect(await colourOf("Allowed addresses")).toBe(await colourOf("Daily spend (USD)"));
  expect(await colourOf("Allowed addresses")).not.toBe(await colourOf("Allowed origins"));
  await look("form-errors");
  expect(complaints.filter((complaint) => !complaint.includes("400"))).toEqual([]);
});

test("an error of a group of boxes, far below, has the focus and is in sight", async () => {
  const { page } = await open();
  await page.goto("/dashboard/webhook-endpoints");
  await page.getByLabel("Endpoint URL").fill("https://example.com/hooks");
  for (const box of await page.getByRole("group", { name: "Events" }).getByRole("checkbox").all()) await box.uncheck();
  await page.setViewportSize({ width: 390, height: 400 });
  await page.getByRole("button", { name: "Add webhook" }).click();
  const problem = page.getByText("Choose at least one event.");
  await problem.waitFor();
  expect(await problem.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  const { y = NaN, height = NaN } = (await problem.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  expect(y + height).toBeLessThanOrEqual(400);
});

test("a chart explains its columns to keyboard, mouse and touch, and its legend shows one series alone", async () => {
  const { page, context, database, accountId, look, complaints } = await open();
  await publishModels(
    database,
    ["modelx-v4-pro", "modelx-flash"].map((name) => ({ model: catalogueModel(name), price: PRICE })),
  );
  await useForAMonth(database, accountId, ["laptop", "server"]);
  await page.goto("/dashboard/usage?unit=requests");
  const chart = page.getByRole("img", { name: /Requests by day and model/ });
  const tooltip = page.locator(".tooltip");
  await chart.focus();
  const last = await tooltip.innerText();
  expect(last).toMatch(/^\w{3} \d+, \d{4}\n/);
  await page.keyboard.press("ArrowLeft");
  expect(await tooltip.innerText()).not.toBe(last);
  await look("chart-by-keyboard");
  await page.keyboard.press("Escape");
  expect(await tooltip.isVisible()).toBe(false);
  await chart.locator(".column").nth(3).hover();
  expect(await tooltip.innerText()).toMatch(/Total: \d+$/);

  const legend = page.getByRole("list", { name: "Series" });
  await legend.getByRole("link", { name: "modelx-flash" }).click();
  await page.waitForURL(/only=modelx-flash/);
  expect(await chart.locator("rect.series-0, rect.series-1").count()).toBeGreaterThan(0);
  expect(
    new Set(await chart.locator("rect[class^=series]").evaluateAll((bars) => bars.map((bar) => bar.getAttribute("class")))).size,
  ).toBe(1);
  await legend.getByRole("link", { name: "Show all" }).click();
  await page.getByRole("navigation", { name: "Group by" }).getByRole("link", { name: "Key" }).click();
  await legend.getByRole("link", { name: "laptop" }).waitFor();
  await look("chart-by-key");
  expect(complaints).toEqual([]);

  const phone = await context.browser()?.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    storageState: await context.storageState(),
  });
  const touched = await phone?.newPage();
  await touched?.goto(page.url());
  await touched?.locator(".chart svg.small .column").nth(5).tap();
  expect(await touched?.locator(".tooltip").innerText()).toMatch(/\d{4}\n/);
  await phone?.close();
});

test("a day's uptime has a colour of its own for no failures, few, many, and no requests", async () => {
  const { page, database } = await open();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  for (const [daysAgo, failed] of [0, 10, 900].entries())
    await database.execute(
      `INSERT INTO model_hour (model, hour, answered, failed)
       VALUES ('modelx-v4-pro', date_trunc('day', now(), 'UTC') - $1 * interval '1 day', 1000, $2)`,
      [daysAgo, failed],
    );
  await page.goto("/dashboard/models/modelx-v4-pro");
  const colours = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.uptime .bars span')].slice(-4).map((bar) => getComputedStyle(bar).backgroundColor)",
  );
  expect(new Set(colours).size).toBe(4);
});

test("logs follow new requests while Live is on, and a key's value disappears once someone confirms the copy", async () => {
  const { page, database, accountId, look, complaints } = await open();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog", { name: "Your new key" });
  await dialog.waitFor();
  await look("key-value");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Done" }).click();
  expect(await dialog.isVisible()).toBe(true);
  await page.getByLabel("I have copied it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.waitForURL(/\/dashboard\/keys\??$/);
  const keyId = (await page.getByRole("checkbox", { name: "Select laptop" }).getAttribute("value")) ?? "";

  await page.goto("/dashboard/usage/requests?range=today");
  await page.getByText("No requests in this period").waitFor();
  await page.getByRole("button", { name: "Live" }).click();
  await settle(database, [settlementOf({ accountId, keyId }, { outcome: "failed", chargeNanoUsd: 0n })]);
  await page.getByRole("table").getByText("failed").waitFor();
  await look("logs-live");
  await page.getByRole("button", { name: "Live" }).click();
  expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("false");
  expect(complaints).toEqual([]);
});

test("input typed when a session ended is on the form again after signing in, without secrets", async () => {
  const { page, database, look, complaints } = await open();
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).fill("nightly evaluation");
  await page.getByLabel("Daily spend (USD)").fill("2.50");
  await database.execute("DELETE FROM session");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.waitForURL("**/dashboard/sign-in?next=**");
  await page.getByLabel("Email").fill(EMAIL);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/dashboard/keys/new");
  await page.getByText("You had to sign in again before the form could be sent").waitFor();
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("nightly evaluation");
  expect(await page.getByLabel("Daily spend (USD)").inputValue()).toBe("2.50");
  await look("draft");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("you will not see it again").waitFor();
  await page.goto("/dashboard/keys/new");
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("");
  expect(complaints).toEqual([]);
});

test("on a phone a copy button covers neither the text that it copies nor the mark of its focus", async () => {
  const { page } = await open({ device: "phone" });
  await page.goto("/dashboard/clients");
  await page.keyboard.press("Tab");
  await page.getByLabel("Installer command", { exact: true }).focus();
  const markedFrom = await page.evaluate<number>(`(() => {
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(document.activeElement);
    const reach = outlineStyle === "none" ? NaN : parseFloat(outlineWidth) + parseFloat(outlineOffset);
    return document.activeElement.getBoundingClientRect().top - reach;
  })()`);
  const button = await page.getByRole("button", { name: "Copy Installer command" }).boundingBox();
  expect((button?.y ?? NaN) + (button?.height ?? NaN)).toBeLessThanOrEqual(markedFrom);
});
