import { expect, test } from "vitest";
import { publishModels } from "../../ledger/models/catalogue.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { catalogueModel, PRICE, settlementOf } from "../support/billing/ledger.ts";
import { PASSWORD } from "../support/dashboard/people.ts";
import { useService } from "./harness-service.ts";
import { makeKey, signIn } from "./harness-steps.ts";

/** A project from its creation to its deletion, as an owner clicks it. */
const openService = useService();
const EMAIL = "ann@example.com";
const OUTERMOST_WIDTHS = [390, 1440];

test("an owner groups keys in a project, sees its usage, sets its budget, renames it, and deletes it once it has no keys (S47)", async () => {
  const service = await openService();
  const { accountId } = await service.owner(EMAIL);
  await service.database.execute("UPDATE person SET email_verified_at = now()");
  await publishModels(service.database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
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

  await page.goto("/dashboard/projects");
  await page.getByText("No projects yet").waitFor();
  await page.getByLabel("Name").fill("Search");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByText("Project created.").waitFor();

  // A new key from the project's page, and one that exists.
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByText("0 keys").waitFor();
  await page.getByRole("link", { name: "Create key" }).click();
  expect(await page.getByLabel("Project").locator("option:checked").innerText()).toBe("Search");
  await page.getByLabel("Name", { exact: true }).fill("crawler");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("you will not see it again").waitFor();
  await page.goto("/dashboard/keys");
  const keyId = (await page.getByRole("checkbox", { name: "Select crawler" }).getAttribute("value")) ?? "";
  await page.getByRole("link", { name: "laptop", exact: true }).click();
  await page.getByLabel("Project").selectOption("Search");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Key saved.").waitFor();

  await settle(service.database, [settlementOf({ accountId, keyId }, { chargeNanoUsd: 600_000_000n })]);
  await page.goto("/dashboard/projects");
  await page.getByRole("link", { name: "$0.60" }).waitFor();
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByText("2 keys").waitFor();
  await page.getByRole("link", { name: "Set a budget" }).click();
  expect(await page.getByLabel("Covers").locator("option:checked").innerText()).toBe("Project: Search");
  await page.getByLabel("Monthly budget (USD)").fill("1");
  await page.getByRole("button", { name: "Save budget" }).click();
  await page.getByText("Budget saved.").waitFor();
  await page.goto("/dashboard/projects");
  await lookAtBothEnds("projects");
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.getByText("$0.60 of $1.00").waitFor();
  await lookAtBothEnds("project");
  await page.getByRole("link", { name: "View usage" }).click();
  expect(await page.getByLabel("Project of the key").locator("option:checked").innerText()).toBe("Search");
  await page.getByRole("table").getByRole("link", { name: "crawler" }).waitFor();
  await lookAtBothEnds("usage-of-project");

  await page.goto("/dashboard/projects");
  const openMenu = (name: string) => page.getByLabel(`Actions for ${name}`).click();
  await openMenu("Search");
  await page.getByRole("link", { name: "Rename Search" }).click();
  await page.getByLabel("Name").fill("Web search");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Project renamed.").waitFor();

  await openMenu("Web search");
  await page.getByRole("link", { name: "Delete Web search" }).click();
  const reason = page.getByText("Move or delete the keys of “Web search” first.");
  await reason.waitFor();
  // It does not look like a success.
  const isProblem = await reason.evaluate((text) => text.closest(".toast")?.classList.contains("unchanged"));
  expect(isProblem).toBe(true);
  for (const name of ["crawler", "laptop"]) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByLabel("Project").selectOption("No project");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Key saved.").waitFor();
  }
  await page.goto("/dashboard/projects");
  await openMenu("Web search");
  await page.getByRole("link", { name: "Delete Web search" }).click();
  await page.getByRole("dialog", { name: "Delete this project?" }).getByRole("button", { name: "Delete project" }).click();
  await page.getByText("Project “Web search” deleted.").waitFor();
  await page.getByText("No projects yet").waitFor();
  expect(complaints).toEqual([]);
});
