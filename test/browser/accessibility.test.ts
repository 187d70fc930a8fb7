import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import { answered, callBoth, keyOnPage, makeKey, PASSWORD, signUp, topUp } from "./harness-steps.ts";
import { useStage } from "./harness-stage.ts";

const { stack, visit } = useStage();

test("everything but copying works without scripts", async () => {
  const { page, look } = await visit({ hasScript: false, device: "phone" });
  await signUp(page, { name: "Grace", email: "no-script@example.com" });
  await topUp(page, "5");
  const key = await makeKey(page, "laptop");
  expect(await page.getByRole("button", { name: /copy/i }).count()).toBe(0);
  await look("no-script");
  await callBoth(stack().baseUrl, key);
  await stack().idle();
  await page.goto("/dashboard/usage/requests");
  expect(await page.getByRole("table").getByText("Completed", { exact: true }).count()).toBe(2);
});

test("signing up and creating a key works with the keyboard alone", async () => {
  const { page } = await visit();
  await page.goto("/dashboard/sign-up");
  await page.keyboard.press("Tab");
  expect(await focused(page)).toContain("Skip to content");
  await tabTo(page, "Name");
  await page.keyboard.type("Keyboard");
  await page.keyboard.press("Tab");
  await page.keyboard.type("keyboard@example.com");
  await page.keyboard.press("Tab");
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/dashboard/sign-up");

  await tabTo(page, "API keys");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/keys");
  await tabTo(page, "Create key");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/keys/new");
  await tabTo(page, "Name");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  const value = await keyOnPage(page);

  await tabTo(page, "Copy");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Copied" }).waitFor();
  await page.goto("/dashboard/keys/new");
  await tabTo(page, "Name");
  await page.keyboard.press("Control+V");
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe(value);
});

test("a key is copied without https, too, and the button says what it copies", async () => {
  const { page } = await visit();
  // As in a page from another machine without a certificate.
  await page.addInitScript({ content: 'Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined })' });
  await signUp(page, { name: "Plain", email: "plain@example.com" });
  const value = await makeKey(page, "laptop");
  await page.getByRole("button", { name: "Copy Full value of the key", exact: true }).click();
  await page.getByRole("button", { name: "Copied Full value of the key", exact: true }).waitFor();
  await page.goto("/dashboard/keys/new");
  await page.getByLabel("Name", { exact: true }).focus();
  await page.keyboard.press("Control+V");
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe(value);
});

test("what is wrong with a form as a whole has the focus, and its fields follow", async () => {
  const { page } = await visit();
  await page.goto("/dashboard/sign-in");
  await page.getByLabel("Email").fill("nobody@example.com");
  for (let tries = 0; (await page.getByRole("alert").count()) === 0 && tries < 20; tries++) {
    await page.getByLabel("Password").fill("not the password");
    await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
  }
  expect(await focused(page)).toContain("Too many");
  await page.keyboard.press("Tab");
  expect(await focused(page)).toContain("Email");
});

test("six clicks lead from the sign-up page to a streamed, billed answer, as the README says", async () => {
  const { page } = await visit();
  let clicks = 0;
  const click = async (role: "link" | "button", name: string | RegExp) => {
    clicks++;
    await page
      .getByRole(role, { name, exact: typeof name === "string" })
      .first()
      .click();
  };
  await page.goto("/dashboard/sign-up");
  await page.getByLabel("Name").fill("Stranger");
  await page.getByLabel("Email").fill("stranger@example.com");
  await page.getByLabel("Password").fill(PASSWORD);
  await click("button", "Sign up");
  await click("link", "Add credit");
  await page.getByLabel("Amount (USD)").fill("5");
  await click("button", "Continue to payment");
  await click("button", /^Pay/);
  await click("link", "Playground");
  await page.getByLabel("Message").fill("What can you do?");
  await click("button", "Send");
  await answered(page);
  expect(clicks).toBe(6);
});

test.for(["usage", "playground"])("the first load of %s takes less than 60 KB, compressed", async (where) => {
  const { page } = await visit();
  await signUp(page, { name: "Light", email: `light-${where}@example.com` });
  await page.waitForURL((url) => url.pathname !== "/dashboard/sign-up");
  const requests: Request[] = [];
  page.on("requestfinished", (request) => requests.push(request));
  await page.goto(`/dashboard/${where}`, { waitUntil: "networkidle" });
  const sizes = await Promise.all(requests.map((request) => request.sizes()));
  expect(sizes.length).toBeGreaterThan(0);
  const bytes = sizes.reduce((sum, { responseBodySize, responseHeadersSize }) => sum + responseBodySize + responseHeadersSize, 0);
  expect(bytes).toBeLessThan(60_000);
  expect(await requests[0]?.response().then((response) => response?.headerValue("content-encoding"))).toBe("br");
});

test("every focused element shows its focus", async () => {
  const { page } = await visit();
  await page.goto("/dashboard/sign-in");
  for (const _ of Array.from({ length: 6 })) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate<boolean>(IS_FOCUS_SHOWN), await focused(page)).toBe(true);
  }
});

/** Runs in the page. */
const IS_FOCUS_SHOWN = `(() => {
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
  return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
})()`;

/** Role and name of the part that has the focus, as a screen reader says them: `- link "Keys"`. */
async function focused(page: Page): Promise<string> {
  return page.locator(":focus").ariaSnapshot();
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (const _ of Array.from({ length: 40 })) {
    await page.keyboard.press("Tab");
    if ((await focused(page)).includes(`"${name}`)) return;
  }
  throw new Error(`Tab leads nowhere that is called ${name}.`);
}
