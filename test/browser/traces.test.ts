import { expect, test } from "vitest";
import { PASSWORD } from "../support/dashboard/people.ts";
import { answer, startOtlpReceiver } from "../support/servers/otlp-receiver.ts";
import { useService } from "./harness-service.ts";
import { signIn } from "./harness-steps.ts";

/** Destinations of traces, as an owner adds, tries, mends and deletes them. */
const openService = useService();
const EMAIL = "ann@example.com";
const WIDTHS = [390, 1440];
const NAME = "A collector with a name that is quite long, and not broken";

test("an owner adds a collector and Langfuse, sees what their servers answer, and deletes one (S61)", async () => {
  const receiver = await startOtlpReceiver((response, index) => answer(response, index === 0 ? 401 : 200));
  const service = await openService(() => ({ targetNetworks: "any" }));
  await service.owner(EMAIL);
  const { page, look, complaints } = await service.visit();
  async function lookAtBothEnds(name: string): Promise<void> {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await look(`${name}-${width}`);
    }
  }
  await signIn(page, EMAIL, PASSWORD);
  await page.waitForURL("**/dashboard");
  await page.getByRole("link", { name: "Traces" }).click();
  await page.getByText("No destinations yet").waitFor();
  await lookAtBothEnds("traces-empty");

  const [collector, langfuse] = [
    page.locator("form", { hasText: "Add OpenTelemetry" }),
    page.locator("form", { hasText: "Add Langfuse" }),
  ];
  await collector.getByLabel("Name").fill(NAME);
  await collector.getByLabel("Traces endpoint").fill(receiver.url);
  await collector.getByLabel("Headers").fill("authorization Bearer topsecret");
  await collector.getByRole("button").click();
  await page.getByText("A header name contains only").waitFor();
  expect(await page.content()).not.toContain("topsecret");
  expect(await collector.getByLabel("Name").inputValue()).toBe(NAME);
  await lookAtBothEnds("traces-refused");
  await collector.getByLabel("Headers").fill("authorization: Bearer topsecret");
  await collector.getByRole("button").click();
  await page.getByText("Destination added.").waitFor();

  await page.getByRole("button", { name: "Send test trace" }).click();
  await page.getByText("The test trace was not accepted. The server answered with status 401.").waitFor();
  await lookAtBothEnds("traces-test");
  await page.getByLabel("Replace headers").fill("authorization: Bearer another");
  await page.getByLabel("Send prompts and answers too").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Destination saved.").waitFor();
  expect(await page.getByLabel("Send prompts and answers too").isChecked()).toBe(true);
  await page.getByRole("button", { name: "Send test trace" }).click();
  await page.getByText("The server accepted the test trace").waitFor();
  expect(receiver.batches.map(({ headers }) => headers["authorization"])).toEqual(["Bearer topsecret", "Bearer another"]);

  await page.getByRole("link", { name: "Traces" }).first().click();
  await langfuse.getByLabel("Langfuse address").fill(receiver.url);
  await langfuse.getByLabel("Public key").fill("pk-lf-1");
  await langfuse.getByLabel("Secret key").fill("sk-lf-2");
  await langfuse.getByRole("button").click();
  await page.getByText(`${receiver.url}/api/public/otel/v1/traces`).waitFor();
  await lookAtBothEnds("traces-langfuse");
  await page.getByRole("link", { name: "Delete destination" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete destination" }).click();
  await page.getByText("Destination deleted.").waitFor();
  await page.getByRole("link", { name: NAME }).waitFor();
  await lookAtBothEnds("traces");
  expect(complaints.filter((line) => !line.includes("400 (Bad Request)"))).toEqual([]);
});
