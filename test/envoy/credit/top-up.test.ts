import { afterAll, beforeAll, expect, test } from "vitest";
import { createBrowser } from "../../support/dashboard/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());

const MESSAGE = JSON.stringify({ model: "modelx-v4-pro", max_tokens: 50, messages: [{ role: "user", content: "Hello." }] });

/** A person with a key but no credit. */
async function newCustomer(email: string) {
  const browser = createBrowser(stack.baseUrl);
  await browser.post("/dashboard/sign-up", { name: "Ada", email, password: "a few words together" });
  const made = await browser.submit("/dashboard/keys/new", "/dashboard/keys/new", { name: "laptop" });
  const key = /sk-mg-[0-9A-Za-z]{55}/.exec(made.text)?.[0] ?? "";
  const call = async () => {
    const response = await fetch(`${stack.baseUrl}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: MESSAGE,
    });
    await response.text();
    return response.status;
  };
  const pay = async (amount: string) => {
    const page = "/dashboard/credit/top-up";
    const attempt = /name="attempt" value="([^"]+)"/.exec((await browser.get(page)).text)?.[1] ?? "";
    const payPage = (await browser.submit(page, page, { amount, attempt })).headers["location"] ?? "";
    expect((await browser.submit(payPage, payPage, { decision: "pay" })).status).toBe(303);
  };
  return { browser, call, pay };
}

test("without credit a key is refused; after paying in the dashboard it works, and the file shows the cost (S19, S26, S27)", async () => {
  const { browser, call, pay } = await newCustomer("ada@example.com");
  await eventually(async () => expect(await call()).toBe(402), { withinMs: 20_000 });

  await pay("5");
  expect((await browser.get("/dashboard/credit")).text).toContain("+$5.00");
  await eventually(async () => expect(await call()).toBe(200), { withinMs: 20_000 });

  await stack.idle();
  const file = await browser.get("/dashboard/usage/csv/requests");
  expect(file.headers["content-type"]).toBe("text/csv; charset=utf-8");
  expect(file.text.split("\r\n").filter((row) => row.includes(",modelx-v4-pro,messages,no,200,complete,"))).toHaveLength(1);
});

test(
  "a request that takes the balance below the threshold causes a charge of the saved card (S26)",
  { timeout: 180_000 },
  async () => {
    const { browser, call, pay } = await newCustomer("bea@example.com");
    const [credit, card] = ["/dashboard/credit", "/dashboard/credit/test-card"];
    await pay("5");
    const on = await browser.submit(credit, "/dashboard/credit/auto-top-up", { below: "5", charge: "20", monthly: "40" });
    expect(on.headers["location"]).toBe(card);
    expect((await browser.submit(card, card, { card: "works" })).status).toBe(303);
    expect((await browser.get(credit)).text).toContain("Charged this month: $0.00 of $40.00.");
    await eventually(async () => expect(await call()).toBe(200), { withinMs: 20_000 });
    await eventually(async () => expect((await browser.get(credit)).text).toContain("+$20.00"), { withinMs: 90_000 });
    expect((await browser.get(credit)).text).toContain("Charged this month: $20.00 of $40.00.");
  },
);
