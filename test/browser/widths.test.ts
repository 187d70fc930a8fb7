import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import * as z from "zod";
import { PASSWORD } from "./harness-steps.ts";
import { signUpByMail, useService } from "./harness-service.ts";

const openService = useService();
const WIDTHS = [390, 768, 1024, 1440];
const NAME = "Wolfeschlegelsteinhausenbergerdorff & Söhne International Holdings (Europe) GmbH";
const EMAIL = "maximiliana.wolfeschlegelsteinhausenbergerdorff@research-and-development.example.com";
const PAGES = [
  "",
  "/keys",
  "/keys/new",
  "/usage",
  "/usage/requests",
  "/credit",
  "/credit/top-up",
  "/members",
  "/tokens",
  "/settings",
  "/settings/log",
  "/settings/second-factor",
  "/settings/passkeys/new",
  "/models",
  "/clients",
  "/playground",
];
const idRow = z.strictObject({ id: z.string() });

/** @returns by how many CSS pixels each width can be scrolled to the side, where it can. */
async function overflowsOf(page: Page, path: string): Promise<string[]> {
  await page.goto(`/dashboard${path}`);
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const needed = await page.locator("html").evaluate((element) => element.scrollWidth);
    if (needed > width) found.push(`/dashboard${path} at ${width}: ${needed - width} too wide`);
  }
  return found;
}

test("no page is wider than the screen, however long the names and addresses on it", async () => {
  const service = await openService();
  const { page } = await service.visit();
  await signUpByMail(service, page, { name: NAME, email: EMAIL, password: PASSWORD });
  const accountId = (await service.database.query({ text: "SELECT id FROM account", row: idRow }))[0]?.id ?? "";
  for (const role of ["owner", "member", "viewer"] as const)
    await service.inAccount(accountId, role, `${role}-with-a-very-long-address@subsidiary-of-the-holding.example.com`);
  const found: string[] = [];
  for (const path of PAGES) found.push(...(await overflowsOf(page, path)));
  await service.database.execute("UPDATE person SET email_verified_at = NULL");
  await service.database.execute("UPDATE account SET status = 'suspended'");
  found.push(...(await overflowsOf(page, "/credit")));
  expect(found).toEqual([]);
});
