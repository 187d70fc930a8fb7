import { expect, test } from "vitest";
import { publishModels } from "../../ledger/models/catalogue.ts";
import { publishSealing } from "../../ledger/provider-keys/sealing.ts";
import { noteServed, readSealedKeys } from "../../ledger/provider-keys/served-keys.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { boxKey } from "../../runtime/sealed-box.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../support/billing/ledger.ts";
import { PASSWORD } from "../support/dashboard/people.ts";
import { useService } from "./harness-service.ts";
import { makeKey, signIn } from "./harness-steps.ts";

/** The account's own key for a provider, as an owner enters, replaces and deletes it. */
const openService = useService();
const EMAIL = "ann@example.com";
const OUTERMOST_WIDTHS = [390, 1440];
const ORIGIN = "https://api.provider.example";

test("an owner enters, replaces and deletes a provider key, and sees its last four characters alone (S59)", async () => {
  const service = await openService();
  const { accountId } = await service.owner(EMAIL);
  await service.database.execute("UPDATE person SET email_verified_at = now()");
  await service.database.execute("UPDATE account_balance SET posted_nano_usd = 5000000000");
  const model = catalogueModel("modelx-v4-pro");
  const providerKey = { provider: "example", origin: ORIGIN, endpoint: "e1" };
  const backends = model.backends.map((backend) => ({ ...backend, providerKey }));
  const providerKeyFee = { requestPicoUsd: 500_000_000n, millionths: 25_000n };
  await publishModels(service.database, [{ model: { ...model, backends }, price: PRICE, providerKeyFee }]);
  const { id, publicKey } = boxKey(Buffer.alloc(32, 1));
  await publishSealing(service.database, { keyId: id, publicKey, maxClusters: 10 }, PEPPER);
  const { page, look, complaints } = await service.visit();
  async function lookAtBothEnds(name: string): Promise<void> {
    for (const width of OUTERMOST_WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await look(`${name}-${width}`);
    }
  }
  await signIn(page, EMAIL, PASSWORD);
  await page.waitForURL("**/dashboard");
  await makeKey(page, "laptop");
  await page.goto("/dashboard/keys");
  await page.getByRole("link", { name: "Provider keys" }).click();
  await page.getByText("No provider keys yet").waitFor();
  await page.getByText("$0.0005 per request + 2.5% of the price").waitFor();

  await page.getByLabel("Key", { exact: true }).fill("short");
  await page.getByRole("button", { name: "Save key" }).click();
  await page.getByText("A provider's key has 8 to 2048 characters.").waitFor();
  expect(await page.getByLabel("Key", { exact: true }).inputValue()).toBe("");
  await lookAtBothEnds("provider-keys-refused");
  await page.getByLabel("Key", { exact: true }).fill("px-live-Zk3v9QmT7wLr2YbN");
  await page.getByRole("button", { name: "Save key" }).click();
  await page.getByText("Key for example saved.").waitFor();
  await page.getByText("Pending").waitFor();
  const keys = await readSealedKeys(service.database);
  await noteServed(
    service.database,
    keys.map((key) => ({ ...key, state: "active", fingerprints: [] })),
  );
  await page.reload();
  await page.getByText("Active", { exact: true }).waitFor();
  await page.getByText("••••2YbN").waitFor();
  expect(await page.content()).not.toContain("px-live");
  await lookAtBothEnds("provider-keys");

  const keyId = /keys\/([0-9A-Za-z]{12})/.exec(await hrefOfKey())?.[1] ?? "";
  const own = settlementOf({ accountId, keyId }, { providerKey: "example", chargeNanoUsd: 502_250n });
  await settle(service.database, [own]);
  await page.goto(`/dashboard/usage/requests/${own.requestId}`);
  await page.getByText("Your own key for example").waitFor();
  await lookAtBothEnds("request-with-provider-key");
  await page.goto("/dashboard/usage/requests");
  await page.getByText("own key", { exact: true }).waitFor();

  await page.goto("/dashboard/provider-keys");
  await page.getByLabel("Actions for example").click();
  await page.getByRole("link", { name: "Delete the key for example" }).click();
  await page.getByRole("button", { name: "Delete key" }).click();
  await page.getByText("Key for example deleted.").waitFor();
  await page.getByText("No provider keys yet").waitFor();
  // Of the key that was too short.
  expect(complaints).toEqual(["Failed to load resource: the server responded with a status of 400 (Bad Request)"]);

  async function hrefOfKey(): Promise<string> {
    await page.goto("/dashboard/keys");
    return (await page.getByRole("link", { name: "laptop", exact: true }).getAttribute("href")) ?? "";
  }
});
