import type { Page } from "playwright-core";
import { expect } from "vitest";
import { eventually } from "../support/eventually.ts";

/** What people do in the dashboard, by the words that they read there. */

export const PASSWORD = "a few words together";

export async function signUp(page: Page, { name, email }: { name: string; email: string }): Promise<void> {
  await page.goto("/dashboard/sign-up");
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign up" }).click();
}

export async function topUp(page: Page, amount: string): Promise<void> {
  await page.goto("/dashboard/credit/top-up");
  await page.getByLabel("Amount (USD)").fill(amount);
  await page.getByRole("button", { name: "Continue to payment" }).click();
  await page.getByRole("button", { name: /^Pay/ }).click();
  await page.waitForURL(/\/dashboard\/credit/);
}

/** @returns the key's full value, which the page shows this once. */
export async function makeKey(page: Page, name: string): Promise<string> {
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Create key" }).click();
  return await keyOnPage(page);
}

export async function keyOnPage(page: Page): Promise<string> {
  await page.getByText("you will not see it again").waitFor();
  const value = /sk-mg-[0-9A-Za-z]{55}/.exec(await page.content())?.[0];
  if (value === undefined) throw new Error("The page shows no key.");
  return value;
}

/** Waits for the playground's answer. @returns what stands below it: tokens, cost and times. */
export async function answered(page: Page): Promise<string> {
  // It sends nothing while an answer is on its way.
  await page.locator("#send:enabled").waitFor();
  const facts = page.getByText(/\d+ tokens in.* · \d+ out · \$0\.\d+ · first token/).last();
  const problem = page.locator("#playground .problem:visible");
  await facts.or(problem.first()).waitFor();
  expect(await problem.allTextContents()).toEqual([]);
  return await facts.innerText();
}

/** Calls both interfaces, until the new key is known and its credit counts. */
export async function callBoth(baseUrl: string, key: string): Promise<void> {
  for (const path of ["/v1/chat/completions", "/v1/messages"]) {
    await eventually(
      async () => {
        const response = await fetch(baseUrl + path, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
          body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 50, messages: [{ role: "user", content: "Hello." }] }),
        });
        const text = await response.text();
        expect(response.status, text).toBe(200);
      },
      { withinMs: 20_000 },
    );
  }
}

/** The navigation is behind a button on small screens. */
export async function openAccountMenu(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Menu", exact: true });
  if (await button.isVisible()) await button.click();
  await page.locator("details.account-menu summary").click();
}

export async function signOut(page: Page): Promise<void> {
  await openAccountMenu(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/dashboard/sign-in");
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto("/dashboard/sign-in");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}
