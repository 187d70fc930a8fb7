import { writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import * as z from "zod";
import { postCredit } from "../../ledger/credit/entries.ts";
import { createPerson, PASSWORD } from "../support/dashboard/people.ts";
import { gravePartsOf } from "./harness-axe.ts";
import { answered, signIn, signUp } from "./harness-steps.ts";
import { useStage } from "./harness-stage.ts";

const { stack, visit } = useStage();
const chargedRow = z.strictObject({ name: z.string(), charge: z.bigint() });
const WIDTHS = inject("isNight") ? [390, 768, 1024, 1440] : [390, 1440];
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
const TOOLS = JSON.stringify([
  { name: "get_weather", description: "…", input_schema: { type: "object", properties: { city: { type: "string" } } } },
]);

/** Somebody with credit, on the page. */
async function open(email: string): Promise<{ page: Page; accountId: string; complaints: readonly string[] }> {
  const { database } = stack();
  const { accountId } = await createPerson(database, email);
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 5_000_000_000n, reference: email });
  const { page, complaints } = await visit();
  await signIn(page, email, PASSWORD);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto("/dashboard/playground");
  return { page, accountId, complaints };
}

async function send(page: Page, text: string): Promise<string> {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  return await answered(page);
}

const reply = (text: string) => `[[sim say=${encodeURIComponent(text)}]]`;

test.for(["Messages", "Chat completions", "Responses"])(
  "a conversation of several turns on %s shows thinking, tokens and cost, and is charged to a key of its own",
  async (name, { expect }) => {
    const { page, accountId, complaints } = await open(`${name.replace(" ", "-").toLowerCase()}@example.com`);
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("modelx-v4-pro");
    await page.getByLabel("Interface").selectOption(name);
    await page.getByLabel("Reasoning effort").selectOption("High");
    const first = await send(page, "My name is Ada.");
    await page.getByText("Thinking", { exact: true }).click();
    await page.getByText("This reasoning is simulated.").waitFor();
    const second = await send(page, "[[sim echo]] What is my name?");
    // The echo is the request: the turns before it are in it.
    expect(await page.locator(".turn.assistant").last().innerText()).toContain("My name is Ada.");
    // The line between the turns of a recorded prompt is not for a conversation.
    const lines = "[...document.querySelectorAll('.turn')].map((turn) => getComputedStyle(turn).borderTopWidth)";
    expect(await page.evaluate(lines)).toEqual(["0px", "0px", "0px", "0px"]);
    const total = await page.locator("#first [data-part=total]").innerText();
    await stack().idle();
    const charged = await stack().database.query({
      text: "SELECT api_key.name, charge_nano_usd AS charge FROM usage_event JOIN api_key ON public_id = key_id WHERE usage_event.account_id = $1",
      values: [accountId],
      row: chargedRow,
    });
    expect(charged.map((row) => row.name)).toEqual(
      Array.from({ length: 2 }, () => `Playground (${name.replace(" ", "-").toLowerCase()})`),
    );
    const sum = charged.reduce((all, { charge }) => all + charge, 0n);
    expect(total).toContain(
      `$0.${String(sum)
        .padStart(9, "0")
        .replace(/0{1,7}$/, "")}`,
    );
    expect([first, second].every((facts) => facts.includes("View in logs"))).toBe(true);
    expect(complaints).toEqual([]);
  },
);

test("a model's output becomes Markdown, never markup", async () => {
  const { page, complaints } = await open("markdown@example.com");
  const text = `# Title\n\nSome **bold**, \`code\` &lt;b&gt; and [a link](https://example.com/a), [a trap](javascript:alert(1)) and ![a picture](https://example.com/spy.png).\n\n<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`js\nconst x = "<b>";\n\`\`\``;
  await send(page, reply(text));
  const answer = page.locator(".markdown");
  expect(await answer.locator("strong").innerText()).toBe("bold");
  expect(await answer.locator("li").allInnerTexts()).toEqual(["one", "two"]);
  expect(await answer.locator("td").allInnerTexts()).toEqual(["1", "2"]);
  expect(await answer.locator("pre").innerText()).toContain('const x = "<b>";');
  expect(await answer.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")))).toEqual([
    "https://example.com/a",
    "https://example.com/spy.png",
  ]);
  expect(await answer.innerText()).toContain("<img src=x");
  expect(await answer.locator("img, script").count()).toBe(0);
  expect(await page.title()).toContain("Playground");
  expect(complaints).toEqual([]);
});

test("a tool is called, gets a result from the page, and an image goes with a message", async () => {
  const { page } = await open("tools@example.com");
  await page.getByRole("button", { name: "View code" }).click();
  expect(await page.locator("#code-text").innerText()).toContain('"content": "Hello"');
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Tools").fill("[{}]");
  await page.getByText("Tool 1 needs a name").waitFor();
  await page.getByLabel("Tools").fill(TOOLS);
  await send(page, "[[sim tool=get_weather]]");
  await page.getByLabel("Result of get_weather").fill("18 degrees");
  await page.getByRole("button", { name: "Send results" }).click();
  await page.getByText("The tools returned").waitFor();
  await page.getByLabel("Images", { exact: true }).setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: PIXEL });
  await page.getByRole("button", { name: "Remove dot.png" }).waitFor();
  await send(page, "[[sim echo]] And this?");
  expect(await page.locator(".turn.assistant").last().innerText()).toContain("image/png");
  await page.getByRole("button", { name: "View code" }).click();
  // Model servers do not take an answer at the end.
  expect((await page.locator("#code-text").innerText()).match(/"role": "\w+"/g)?.at(-1)).toBe('"role": "user"');
  for (const [language, words] of [
    ["curl", `curl ${stack().baseUrl}/v1/messages`],
    ["Python", "client.messages.create("],
    ["JavaScript", "process.env.MODEL_GATEWAY_API_KEY"],
  ] as const) {
    await page.getByRole("button", { name: language, exact: true }).click();
    expect(await page.locator("#code-text").innerText()).toContain(words);
  }
  expect(await page.content()).not.toMatch(/sk-mg-[0-9A-Za-z]{12}/);
});

test("stopping keeps the partial answer, and a failed message can be sent again", async () => {
  const { page } = await open("stop@example.com");
  await page.getByLabel("Message").fill("[[sim tokens=400 chunk-ms=100]]");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.locator(".markdown").getByText("This is a").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped. Tokens produced until then are charged.").waitFor();
  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByLabel("Message").fill("[[sim status=500]]");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  expect(await page.locator(".turn.user").count()).toBe(1);
});

test("other tabs take over the key, and each continues with another", async () => {
  const { page } = await open("tabs@example.com");
  await send(page, "One.");
  for (const text of ["Two.", "Three."]) {
    const tab = await page.context().newPage();
    await tab.goto("/dashboard/playground");
    await send(tab, text);
    await tab.close();
  }
  await send(page, "Four.");
  expect(await page.locator(".turn.assistant").count()).toBe(2);
});

test("two models side by side fit at every width in both themes", { timeout: 300_000 }, async () => {
  const { page } = await open("compare@example.com");
  await page.getByLabel("Compare").check();
  const preselected = await page.getByLabel("Model", { exact: true }).inputValue();
  expect(await page.getByLabel("Second model").inputValue()).not.toBe(preselected);
  await page.getByLabel("Second model").selectOption("modelx-v4-flash");
  const long = "anextraordinarilylongwordthatnobodybreaks".repeat(4);
  await send(
    page,
    reply(
      `# A heading with ${long}\n\n${"Some text that goes on. ".repeat(30)}\n\n- ${long}\n\n| ${long} | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`sh\ncurl ${long}${long}\n\`\`\``,
    ),
  );
  await expect.poll(() => page.locator(".facts-line").filter({ hasText: "first token" }).count()).toBe(2);
  const found: string[] = [];
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate("scrollTo(0, 0)");
      const folder = process.env["SCREENSHOTS"];
      if (folder !== undefined && folder !== "")
        await writeFile(path.join(folder, `compare-${width}-${theme}.png`), await page.screenshot({ fullPage: true }));
      const needed = await page.locator("html").evaluate((element) => element.scrollWidth);
      if (needed > width) found.push(`${needed - width} pixels too wide at ${width}`);
      found.push(...(await gravePartsOf(page)).map((part) => `${width}, ${theme}: ${part}`));
    }
  }
  expect(found).toEqual([]);
});

test("the playground accepts no message before its script has loaded", async () => {
  const { page } = await visit();
  await signUp(page, { name: "Early", email: "early@example.com" });
  await page.waitForURL((url) => url.pathname !== "/dashboard/sign-up");
  const { promise: arrival, resolve: arrive } = Promise.withResolvers<void>();
  await page.route(/playground\/main\.js/, async (route) => {
    await arrival;
    await route.continue();
  });
  await page.goto("/dashboard/playground", { waitUntil: "commit" });
  const ask = page.getByRole("button", { name: "Send", exact: true });
  await ask.waitFor();
  expect(await ask.isDisabled()).toBe(true);
  arrive();
  await expect.poll(() => ask.isEnabled()).toBe(true);
});
