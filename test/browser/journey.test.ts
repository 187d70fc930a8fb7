import { describe, expect, test } from "vitest";
import { answered, callBoth, makeKey, signUp, topUp } from "./harness-steps.ts";
import { useStage } from "./harness-stage.ts";
import { looks } from "./looks.ts";

const { stack, visit } = useStage();
const PAGES = [
  "",
  "/credit",
  "/billing",
  "/batches",
  "/models",
  "/status",
  "/terms",
  "/keys/new",
  "/members",
  "/settings",
  "/tokens",
  "/outbox",
  "/nothing-here",
];

describe.each(looks())("on a $device, $scheme", ({ device, scheme }) => {
  test("from signing up to seeing what answers cost (S24–S29)", async () => {
    const { page, look, complaints } = await visit({ device, scheme });
    const email = `${device}-${scheme}@example.com`;
    for (const path of ["sign-in", "forgot"]) {
      await page.goto(`/dashboard/${path}`);
      await look(path);
    }
    await signUp(page, { name: "Ada Lovelace", email });
    await page.waitForURL(/\/dashboard/);
    await look("new");

    await page.goto("/dashboard/credit/top-up");
    await look("top-up");
    await topUp(page, "20");
    await look("paid");
    await page.goto("/dashboard/credit");
    await page.getByRole("link", { name: "Receipt" }).click();
    await page.getByText("20.00 USD").waitFor();
    await look("receipt");
    const download = await page.getByRole("link", { name: "Download PDF" }).getAttribute("href");
    const document = await page.request.get(download ?? "");
    expect((await document.body()).toString("latin1")).toMatch(/^%PDF-/);
    await page.goto("/dashboard/keys/new");
    await look("key-form");
    const key = await makeKey(page, "laptop");
    await look("key-value");
    await callBoth(stack().baseUrl, key);
    await stack().idle();

    await page.goto("/dashboard/keys");
    expect(await page.content()).not.toContain(key);
    await look("keys");
    await page.goto("/dashboard/usage");
    await page.getByRole("table").getByText("modelx-v4-pro").first().waitFor();
    await look("usage");
    await page.goto("/dashboard/usage/requests");
    expect(await page.getByRole("table").getByText("Completed", { exact: true }).count()).toBe(2);
    await look("requests");
    for (const each of ["Chat completions", "Messages"]) {
      await page.goto("/dashboard/playground");
      const settings = page.getByText("Settings", { exact: true }).last();
      if (!(await page.getByLabel("Interface").isVisible())) await settings.click();
      await page.getByLabel("Interface").selectOption(each);
      await page.getByLabel("Message").fill("What can you do?");
      await page.getByRole("button", { name: "Send" }).click();
      await answered(page);
      await look(`playground-${each.split(" ")[0]?.toLowerCase()}`);
    }
    for (const path of PAGES) {
      await page.goto(`/dashboard${path}`);
      await look(`page${path.replaceAll("/", "-")}`);
    }
    // The page that is not there is the one complaint.
    expect(complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });
});
