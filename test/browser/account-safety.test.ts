import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { makeKey, openAccountMenu, PASSWORD as OWN_PASSWORD, signIn } from "./harness-steps.ts";
import { linkIn, signUpByMail, useService } from "./harness-service.ts";
import { PASSWORD } from "../support/dashboard/people.ts";

/** What keeps an account with a card safe, as people meet it. */
const openService = useService();
const EMAIL = "ann@example.com";

async function beginToPay(page: Page): Promise<void> {
  await page.goto("/dashboard/credit/top-up");
  await page.getByLabel("Amount (USD)").fill("20");
  await page.getByRole("button", { name: "Continue to payment" }).click();
}

test("every page of a suspended account shows that it is suspended, and offers no way to pay", async () => {
  const service = await openService();
  await service.owner(EMAIL);
  await service.database.execute("UPDATE account SET status = 'suspended'");
  const { page, look } = await service.visit({ device: "phone" });
  await signIn(page, EMAIL, PASSWORD);
  for (const path of ["", "/keys", "/usage", "/credit", "/members", "/tokens", "/settings"]) {
    await page.goto(`/dashboard${path}`);
    await page.getByText("This account is suspended").waitFor();
  }
  await page.goto("/dashboard/credit/top-up");
  await page.getByText("This account is suspended").first().waitFor();
  await look("suspended-top-up");
  expect(await page.getByRole("button", { name: "Continue to payment" }).count()).toBe(0);
});

test("a form opened for one account changes nothing in another", async () => {
  const service = await openService();
  const [first, second] = [await service.owner(EMAIL), await service.owner("other@example.com")];
  await service.database.execute("UPDATE person SET email_verified_at = now()");
  await service.database.execute("INSERT INTO member (account_id, person_id, role) VALUES ($1, $2, 'owner')", [
    second.accountId,
    first.personId,
  ]);
  const { page, context, look } = await service.visit();
  await signIn(page, EMAIL, PASSWORD);
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).fill("of the first");
  const tab = await context.newPage();
  await tab.goto("/dashboard");
  await openAccountMenu(tab);
  await tab.getByRole("button", { name: "other" }).click();
  await tab.waitForURL("**/dashboard");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Nothing was changed: this form belongs to another account").waitFor();
  await look("form-of-another-account");
  await tab.goto("/dashboard/keys");
  expect(await tab.content()).not.toContain("of the first");
});

test("an address must be confirmed before any payment", async () => {
  const service = await openService();
  await service.owner(EMAIL);
  const { page, look } = await service.visit({ device: "phone", scheme: "dark" });
  await signIn(page, EMAIL, PASSWORD);
  await beginToPay(page);
  await page.getByText(`Confirm your email address, ${EMAIL}, first`).waitFor();
  await look("unproved-top-up");
  await page.getByRole("button", { name: "Send confirmation email" }).click();
  await page.getByText("We sent a link").waitFor();
  await page.goto(linkIn(await service.letterTo(EMAIL, /Confirm your email/)));
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.waitForURL("**/dashboard");
  await beginToPay(page);
  await page.getByRole("button", { name: /^Pay/ }).waitFor();
});

test("an old session requires a new sign-in before a card is saved", async () => {
  const service = await openService();
  const { page, look } = await service.visit();
  await signUpByMail(service, page, { name: "Ann", email: EMAIL, password: OWN_PASSWORD });
  await service.database.execute("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  await page.goto("/dashboard/credit");
  await page.getByLabel("Balance below (USD)").fill("5");
  await page.getByLabel("Charge (USD)").fill("20");
  await page.getByLabel("Monthly limit (USD)").fill("100");
  await page.getByRole("button", { name: "Continue to add a card" }).click();
  await page.getByRole("heading", { name: "Confirm that it is you" }).waitFor();
  await look("confirm-before-card");
  await page.getByLabel("Password").fill(OWN_PASSWORD);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL("**/dashboard/credit**");
});

test("taking over an account by a password reset ends the sessions and keys of the stranger who created it", async () => {
  const service = await openService();
  await service.owner(EMAIL);
  const [stranger, ann] = [await service.visit(), await service.visit({ device: "phone" })];
  await signIn(stranger.page, EMAIL, PASSWORD);
  await stranger.page.waitForURL("**/dashboard");
  await makeKey(stranger.page, "of the stranger");

  const { page, look } = ann;
  await page.goto("/dashboard/forgot");
  await page.getByLabel("Email").fill(EMAIL);
  await page.getByRole("button", { name: "Send reset link" }).click();
  await page.goto(linkIn(await service.letterTo(EMAIL, /Reset your/)));
  await page.getByLabel("New password").fill(OWN_PASSWORD);
  await page.getByLabel("No: delete them all").check();
  await look("reset-take-over");
  await page.getByRole("button", { name: "Save password" }).click();
  await page.waitForURL("**/dashboard");
  await page.goto("/dashboard/keys");
  expect(await page.content()).not.toContain("of the stranger");
  await stranger.page.goto("/dashboard/keys");
  await stranger.page.waitForURL("**/dashboard/sign-in**");
});
