import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { Usage } from "../../contract/usage.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import { createApiKey } from "../../ledger/keys/keys.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import { createPartitionsFor } from "../../ledger/postgres/partitions.ts";
import { signUp } from "../../ledger/people/persons.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { eventually } from "../support/eventually.ts";
import { PEPPER, settlementOf } from "../support/ledger.ts";
import { useStage } from "./harness-stage.ts";
import { keyOnPage, PASSWORD } from "./harness-steps.ts";
import { DAY_MS, HOUR_MS } from "../../contract/days.ts";

/**
 * The pages of somebody who has used the gateway for a month: what is empty in the journey is full here. The README's
 * pictures are of these (`npm run pictures:update`).
 */
const LONG = 300_000;
const DAYS = 30;
const { stack, visit } = useStage();

/** The same month at each run: a mixed congruential generator. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

async function useForAMonth(database: Database, accountId: string): Promise<void> {
  const random = numbers(7);
  const models = await listModels(database, Date.now());
  const priceVersions = await database.query({
    text: `SELECT name, price_version_id AS "priceVersionId" FROM model`,
    row: z.strictObject({ name: z.string(), priceVersionId: z.bigint() }),
  });
  const today = new Date().setUTCHours(0, 0, 0, 0);
  const keys: string[] = [];
  for (const name of ["laptop", "agents", "nightly evaluation"])
    keys.push((await createApiKey(database, { accountId, name, pepper: PEPPER })).publicId);
  const settlements: Settlement[] = [];
  for (let day = DAYS - 1; day >= 0; day--)
    for (let request = 0; request < 3 + Math.floor(random() * 9); request++) {
      // All of the last day's are today's.
      const startedMs = Math.max(Date.now() - Math.floor(random() * 8 * HOUR_MS), today) - day * DAY_MS;
      const listed = models[Math.floor(random() ** 2 * models.length)];
      if (listed === undefined) throw new Error("no model is served");
      const usage: Usage = {
        inputTokens: 2_000 + Math.floor(random() * 60_000),
        cachedInputTokens: Math.floor(random() * 400_000),
        cacheWriteTokens: 0,
        outputTokens: 400 + Math.floor(random() * 30_000),
        reasoningTokens: 0,
      };
      settlements.push(
        settlementOf(
          { accountId, keyId: keys[Math.floor(random() * keys.length)] ?? "" },
          {
            requestId: uuidv7({ msecs: startedMs }),
            model: listed.model.name,
            interface: random() < 0.5 ? "chat" : "messages",
            priceVersionId: priceVersions.find(({ name }) => name === listed.model.name)?.priceVersionId ?? 0n,
            usage,
            chargeNanoUsd: chargeNanoUsd(usage, listed.price),
            isStream: true,
            startedAt: new Date(startedMs),
            durationMs: 900 + Math.floor(random() * 20_000),
            firstTokenMs: 300,
            outcome: random() < 0.04 ? "aborted" : "complete",
          },
        ),
      );
    }
  await createPartitionsFor(
    database,
    settlements.map(({ requestId }) => requestId),
  );
  await settle(database, settlements);
}

/** With PICTURES set to a folder, what a desktop shows of the page without scrolling goes there. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["PICTURES"];
  if (folder === undefined || folder === "") return;
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

test("the pages of a month of use, on desktop and phone, light and dark", { timeout: LONG }, async () => {
  const { database } = stack();
  const email = "ada@example.com";
  const { accountId } = await signUp(database, { email, name: "Analytical Engines", password: PASSWORD });
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 40_000_000_000n, reference: "month" });
  await useForAMonth(database, accountId);

  for (const scheme of ["light", "dark"] as const)
    for (const device of ["desktop", "phone"] as const) {
      const { page, look, complaints } = await visit({ device, scheme });
      await page.goto("/dashboard/sign-in");
      await page.getByLabel("E-mail").fill(email);
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

      await page.goto("/dashboard/keys/new");
      await page.getByLabel("Name", { exact: true }).fill(`${scheme} ${device}`);
      await page.getByRole("button", { name: "Make the key" }).click();
      const key = await keyOnPage(page);
      await page.goto("/dashboard/playground");
      await page.getByLabel("API key").fill(key);
      await page.getByLabel("Question").fill("What does a gateway do?");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByText(/first word after/).waitFor();
      await look("playground");
      if (device === "desktop") await picture(page, `playground-${scheme}`);
      await page.getByRole("link", { name: "This request in your usage" }).click();
      // A request is in the list a moment after its end.
      await eventually(async () => {
        if ((await page.getByText(/Charged:/).count()) === 0) await page.reload();
        expect(await page.getByText(/Charged:/).count()).toBe(1);
      });
      expect(complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
    }
});
