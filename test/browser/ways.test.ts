import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { callBoth, keyOnPage, makeKey, PASSWORD, signUp, topUp } from "./harness-steps.ts";
import { useStage } from "./harness-stage.ts";

const { stack, visit } = useStage();

test("with scripts off everything works but copying", async () => {
  const { page, look } = await visit({ hasScript: false, device: "phone" });
  await signUp(page, { name: "Grace", email: "no-script@example.com" });
  await topUp(page, "5");
  const key = await makeKey(page, "laptop");
  expect(await page.getByRole("button", { name: /copy/i }).count()).toBe(0);
  await look("no-script");
  await callBoth(stack().baseUrl, key);
  await stack().idle();
  await page.goto("/dashboard/usage/requests");
  expect(await page.getByText("complete", { exact: true }).count()).toBe(2);
});

test("with the keyboard alone, from signing up to the key's value", async () => {
  const { page } = await visit();
  await page.goto("/dashboard/sign-up");
  await page.keyboard.press("Tab");
  expect(await focused(page)).toContain("To the page's content");
  await tabTo(page, "Name");
  await page.keyboard.type("Keyboard");
  await page.keyboard.press("Tab");
  await page.keyboard.type("keyboard@example.com");
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/dashboard/sign-up");

  await tabTo(page, "Keys");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/keys");
  await tabTo(page, "Make a key");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/keys/new");
  await tabTo(page, "Name");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  const value = await keyOnPage(page);

  await tabTo(page, "Copy");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(value);
});

test("every focused part shows that it has the focus", async () => {
  const { page } = await visit();
  await page.goto("/dashboard/sign-in");
  for (const _ of Array.from({ length: 6 })) {
    await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement ?? document.body);
      return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    });
    expect(outline, await focused(page)).toBe(true);
  }
});

/** What somebody hears of the part that has the focus. */
async function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])].map((label) => label.textContent) : [];
    return [element?.getAttribute("aria-label") ?? "", ...labels, element?.textContent ?? ""].join(" ").trim();
  });
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (const _ of Array.from({ length: 40 })) {
    if ((await focused(page)).startsWith(name)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab leads nowhere that is called ${name}.`);
}
