import { expect, test } from "vitest";
import * as z from "zod";
import { findKey } from "../../ledger/keys/key-list.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { publishModels } from "../../ledger/models/catalogue.ts";
import { catalogueModel, PRICE, settlementOf } from "../support/billing/ledger.ts";
import { PASSWORD } from "../support/dashboard/people.ts";
import { addPromptRecord } from "../support/billing/prompt-records.ts";
import { useService } from "./harness-service.ts";
import { makeKey, signIn } from "./harness-steps.ts";

/** Recorded prompts, as an owner turns them on, reads and deletes them. */
const openService = useService();
const EMAIL = "ann@example.com";
const WIDTHS = [390, 1440];
const MARKUP = "<script>document.title = 'broken'</script>";

const BOTH_DIRECTIONS = "مرحبا بالعالم\nHello, world";
/** How far each of these lines is from the left and from the right of what holds them, in pixels. */
const GAPS = `(() => {
  const said = [...document.querySelectorAll(".said")].find(({ textContent }) => textContent === ${JSON.stringify(BOTH_DIRECTIONS)});
  const range = document.createRange();
  range.selectNodeContents(said);
  const box = said.getBoundingClientRect();
  return [...range.getClientRects()].filter(({ width }) => width > 0)
    .map(({ left, right }) => [Math.round(left - box.left), Math.round(box.right - right)]);
})()`;

test("an owner turns a key's prompt log on, reads a record and deletes all of them (S60)", async () => {
  const service = await openService();
  const { accountId } = await service.owner(EMAIL);
  await service.database.execute("UPDATE person SET email_verified_at = now()");
  await publishModels(service.database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const { page, look, complaints } = await service.visit();
  async function lookAtBothEnds(name: string): Promise<void> {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await look(`${name}-${width}`);
    }
  }
  await signIn(page, EMAIL, PASSWORD);
  await page.waitForURL("**/dashboard");
  await makeKey(page, `a key with a name ${"that goes on ".repeat(5)}`);
  await page.goto("/dashboard/keys");
  await page.getByRole("link", { name: "a key with a name" }).first().click();
  const keyId = /keys\/([0-9A-Za-z]{12})/.exec(page.url())?.[1] ?? "";
  await page.getByLabel("Prompt log").selectOption({ label: "Keep for 7 days" });
  await lookAtBothEnds("key-with-prompt-log");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Prompts recorded").waitFor();
  expect(await findKey(service.database, { accountId, publicId: keyId })).toMatchObject({ promptLogDays: 7 });

  const own = settlementOf({ accountId, keyId });
  await settle(service.database, [own]);
  const request = {
    model: "modelx-v4-pro",
    temperature: 0.2,
    messages: [
      { role: "system", content: `You are brief. ${"This is a long instruction. ".repeat(100)}` },
      { role: "user", content: MARKUP },
      { role: "user", content: BOTH_DIRECTIONS },
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "get_weather", arguments: '{"city":"Rome"}' } }] },
      { role: "tool", tool_call_id: "c1", content: "4 degrees" },
    ],
    tools: [{ type: "function", function: { name: "get_weather", description: "The weather of a city." } }],
  };
  const answer = ["It is ", "cold."].map(
    (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
  );
  await addPromptRecord(
    service.database,
    { accountId, keyId },
    { requestId: own.requestId, request: JSON.stringify(request), answer: answer.join(""), isStream: true },
  );
  await addPromptRecord(service.database, { accountId, keyId }, { request: "{", answer: "no", status: 400, model: null });
  await page.goto(`/dashboard/usage/requests/${own.requestId}`);
  await page.getByRole("link", { name: "Prompt and answer" }).click();
  await page.getByText("It is cold.", { exact: true }).waitFor();
  await page.getByText(MARKUP, { exact: true }).waitFor();
  await page.getByText("Tool call: get_weather").waitFor();
  expect(await page.title()).toContain("Prompt and answer");
  const [arabic, english] = z.array(z.tuple([z.number(), z.number()])).parse(await page.evaluate(GAPS));
  expect([arabic?.[1], english?.[0]]).toEqual([0, 0]);
  expect(Math.min(arabic?.[0] ?? 0, english?.[1] ?? 0)).toBeGreaterThan(100);
  expect(await page.getByText("This is a long instruction.").last().isVisible()).toBe(false);
  await page.getByText("You are brief.").first().click();
  await lookAtBothEnds("prompt");
  await page.locator("summary", { hasText: "Full JSON" }).click();
  await page.getByText('"temperature": 0.2').last().waitFor();
  await lookAtBothEnds("prompt-as-sent");

  await page.goto("/dashboard/usage/requests");
  await page.getByRole("link", { name: "Prompt log" }).click();
  await page.getByText("Unknown").waitFor();
  await lookAtBothEnds("prompt-log");
  await page.getByLabel("Key").selectOption(keyId);
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("link", { name: "Key", exact: true }).click();
  await page.getByRole("link", { name: "Delete recorded prompts" }).click();
  await page.getByRole("button", { name: "Delete all" }).click();
  await page.getByText("All recorded prompts of").waitFor();
  await page.getByRole("link", { name: "Recorded prompts", exact: true }).click();
  await page.getByText("No recorded prompts").waitFor();
  await lookAtBothEnds("prompt-log-empty");
  expect(complaints).toEqual([]);
});
