import { mkdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import * as z from "zod";
import { gravePartsOf } from "./harness-axe.ts";
import { EMAIL, fillAccount, LONG_MODEL, NAME, pagesOfNames, PROVIDERS } from "./harness-full-account.ts";
import { disorderOf } from "./harness-order.ts";
import { signUpByMail, useService } from "./harness-service.ts";
import { PASSWORD } from "./harness-steps.ts";

/**
 * Every page at four widths, by day without the second one, with names and amounts as long and as small as they get.
 * With SCREENSHOTS set to a folder, a picture of each goes there.
 */
const openService = useService();
const LONG = 600_000;
const OUTERMOST_WIDTHS = [390, 1440];
/** Of a tablet or a small laptop: from here on, tables are tables. */
const TABLES_FROM = 1024;
const WIDTHS = inject("isNight") ? [390, 768, TABLES_FROM, 1440] : [390, TABLES_FROM, 1440];
const PAGES = [
  "",
  "/keys",
  "/keys?search=nothing",
  "/keys/new",
  "/keys?search=nothing&project=0199d8a0-0000-7000-8000-000000000000",
  "/projects",
  "/batches",
  "/limits",
  "/budgets",
  "/webhook-endpoints",
  "/provider-keys",
  `/provider-keys/${PROVIDERS[0]}/delete`,
  "/trace-destinations",
  "/prompt-log",
  "/usage",
  "/usage?by=member",
  "/usage?by=project",
  "/usage?range=today",
  "/usage?by=tag&tag=team&unit=requests",
  "/usage?by=user&range=today",
  "/usage/performance",
  "/usage/performance?by=key&metric=first-token",
  "/usage/requests",
  "/usage/requests?tag=environment%3Dproduction&end_user=customer-4711",
  "/credit",
  "/credit/top-up",
  "/billing",
  "/members",
  "/tokens",
  "/settings",
  "/settings/email",
  "/settings/tags/delete",
  "/settings/close",
  "/settings/activity",
  "/settings/log",
  "/settings/second-factor",
  "/settings/passkeys/new",
  "/models",
  `/models/${LONG_MODEL}`,
  `/models/${LONG_MODEL}?language=python`,
  "/clients",
  "/docs",
  "/docs/api",
  "/docs/management-api",
  "/playground",
  "/status",
  "/support",
  "/admin",
  "/admin?sort=spend",
  "/admin/figures",
  "/admin/codes",
  "/admin/incidents",
  "/admin/models",
  "/admin/check",
  "/admin/audit",
  "/nothing-here",
];
const folder = process.env["SCREENSHOTS"] ?? "";
const isPictured = folder !== "";

async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `width${name}.png`), fullPage: true });
}

const THEMES = ["light", "dark"] as const;

/**
 * What axe looks for. By day each of the outermost widths and each theme once: narrow and light, wide and dark; the journey
 * walks most pages in the other two looks. At night all of them: colours depend on the theme, and the narrowest and the
 * widest layout show every colour; anything else depends on the width.
 */
function rulesAt(width: number, theme: (typeof THEMES)[number]): { layout: boolean; colours: boolean } {
  const isNarrowest = width === OUTERMOST_WIDTHS[0];
  const isOutermost = OUTERMOST_WIDTHS.includes(width);
  if (inject("isNight")) return { layout: theme === "light", colours: isOutermost };
  const isByDay = isOutermost && isNarrowest === (theme === "light");
  return { layout: isByDay, colours: isByDay };
}

async function overfullCells(page: Page): Promise<string[]> {
  const cells = '[...document.querySelectorAll(".table :is(td, th)")]';
  const overfull = '(cell) => getComputedStyle(cell).display === "table-cell" && cell.scrollWidth > cell.clientWidth';
  return z.array(z.string()).parse(await page.evaluate(`${cells}.filter(${overfull}).map((cell) => cell.innerText)`));
}

/** Tables whose last columns are out of sight until somebody scrolls them. */
async function scrolledTables(page: Page): Promise<string[]> {
  const scrolled = '[...document.querySelectorAll(".table")].filter((table) => table.scrollWidth > table.clientWidth)';
  return z.array(z.string()).parse(await page.evaluate(`${scrolled}.map((table) => table.querySelector("thead").innerText)`));
}

/** Words of the product's own, which are short, below what names a row: in a table's cell none takes two lines. */
async function brokenWords(page: Page): Promise<string[]> {
  const words = `[...document.querySelectorAll(".table td .sub")]
    .filter((sub) => getComputedStyle(sub.closest("td")).display === "table-cell" && sub.childElementCount === 0)
    .flatMap(({ firstChild }) => [...(firstChild?.data ?? "").matchAll(/[A-Za-z]{1,14}/g)].map((word) => {
      const range = new Range();
      range.setStart(firstChild, word.index);
      range.setEnd(firstChild, word.index + word[0].length);
      return { word: word[0], lines: range.getClientRects().length };
    }))`;
  return z.array(z.string()).parse(await page.evaluate(`${words}.filter(({ lines }) => lines > 1).map(({ word }) => word)`));
}

/** What is wrong with a page that is loaded once: a theme or a width changes styles alone. */
async function lookAt(page: Page, where: string): Promise<string[]> {
  const name = where.replace(/\W+/g, "-");
  const found: string[] = [];
  await page.goto(`/dashboard${where}`);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const needed = await page.locator("html").evaluate((element) => element.scrollWidth);
    if (needed > width) found.push(`${where} at ${width}: ${needed - width} pixels too wide`);
    // A table with a column for each unit, and none to leave out, needs more.
    if (width >= TABLES_FROM) {
      const heads = '[...document.querySelectorAll(".table:not(.whole) thead")]';
      const cards = z
        .int()
        .parse(await page.evaluate(`${heads}.filter((head) => getComputedStyle(head).display === "none").length`));
      if (cards > 0) found.push(`${where} at ${width}: ${cards} tables are cards`);
    }
    for (const heads of await scrolledTables(page)) found.push(`${where} at ${width}: the table ${heads} is cut off`);
    for (const cell of await overfullCells(page)) found.push(`${where} at ${width}: "${cell}" runs into the next column`);
    for (const words of await disorderOf(page)) found.push(`${where} at ${width} ${words}`);
    for (const word of await brokenWords(page)) found.push(`${where} at ${width}: "${word}" is broken across lines`);
    for (const theme of THEMES) {
      const rules = rulesAt(width, theme);
      const isAsked = rules.layout || rules.colours;
      if (!isAsked && !isPictured) continue;
      await page.emulateMedia({ colorScheme: theme });
      if (isPictured) await takePicture(page, `${name}-${width}-${theme}`);
      if (isAsked) found.push(...(await gravePartsOf(page, rules)).map((part) => `${where} at ${width}, ${theme}: ${part}`));
    }
  }
  return found;
}

test("no page is wider than the screen or unusable, however long its content", { timeout: LONG }, async () => {
  const service = await openService();
  const { page } = await service.visit();
  await signUpByMail(service, page, { name: NAME, email: EMAIL, password: PASSWORD });
  const accountId = await fillAccount(service);
  const found: string[] = [];
  const ofAccount = ["", "/limits", "/refund", "/suspend"].map((part) => `/admin/accounts/${accountId}${part}`);
  for (const where of [...PAGES, ...ofAccount, ...(await pagesOfNames(service))]) found.push(...(await lookAt(page, where)));
  await service.database.execute("UPDATE person SET email_verified_at = NULL");
  await service.database.execute("UPDATE account SET status = 'suspended'");
  found.push(...(await lookAt(page, "/credit")));
  expect(found).toEqual([]);
});
