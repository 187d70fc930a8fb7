import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { postCredit } from "../../ledger/credit/entries.ts";
import { signUp } from "../../ledger/people/persons.ts";
import { eventually } from "../support/eventually.ts";
import { useForAMonth } from "./harness-month.ts";
import { useStage } from "./harness-stage.ts";
import { answered, PASSWORD } from "./harness-steps.ts";
import { looks, type Look } from "./looks.ts";

/**
 * The pages of somebody who has used the gateway for a month: what is empty in the journey is full here. The README's
 * pictures are of these (`npm run pictures:update`).
 */
const LONG = 300_000;
const { stack, visit } = useStage();

const folder = process.env["PICTURES"] ?? "";
const PICTURED: Look[] = [
  { device: "desktop", scheme: "light" },
  { device: "desktop", scheme: "dark" },
];

/** With PICTURES set to a folder, what a desktop shows of the page without scrolling goes there. */
async function picture(page: Page, name: string): Promise<void> {
  if (folder === "") return;
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

test("pages after a month of use, on desktop and phone, light and dark", { timeout: LONG }, async () => {
  const { database } = stack();
  const email = "ada@example.com";
  const { accountId } = await signUp(database, { email, name: "Analytical Engines", password: PASSWORD });
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 40_000_000_000n, reference: "month" });
  await useForAMonth(database, accountId, ["laptop", "agents", "nightly evaluation"]);

  for (const { device, scheme } of folder === "" ? looks() : PICTURED) {
    const { page, look, complaints } = await visit({ device, scheme });
    await page.goto("/dashboard/sign-in");
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await look("overview");
    if (device === "desktop") await picture(page, `overview-${scheme}`);
    await page.goto("/dashboard/usage");
    await page.getByRole("img", { name: /USD by day and model/ }).waitFor();
    await look("usage");
    if (device === "desktop") await picture(page, `usage-${scheme}`);
    await page.goto("/dashboard/usage?range=today&unit=tokens");
    await page.getByRole("img", { name: /Tokens by hour and model/ }).waitFor();
    await look("usage-today");
    await page.goto("/dashboard/usage/requests");
    await look("requests");
    await page.getByRole("table").getByRole("link").first().click();
    await page.getByRole("heading", { name: "Request" }).waitFor();
    await look("request");
    await page.goto("/dashboard/keys");
    await look("keys");

    await page.goto("/dashboard/playground");
    await page.getByLabel("Message").fill("What does a gateway do?");
    await page.getByRole("button", { name: "Send" }).click();
    await answered(page);
    await look("playground");
    if (device === "desktop") await picture(page, `playground-${scheme}`);
    await page.getByRole("link", { name: "View in logs" }).click();
    // A request is in the list a moment after its end.
    await eventually(async () => {
      if ((await page.getByText(/Charged:/).count()) === 0) await page.reload();
      expect(await page.getByText(/Charged:/).count()).toBe(1);
    });
    expect(complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  }
});
