import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { PASSWORD } from "../support/dashboard/people.ts";
import { useService } from "./harness-service.ts";
import { signIn } from "./harness-steps.ts";
import { looks } from "./looks.ts";

/** Pages that say what went wrong say what to do next, too. */
const openService = useService();
const EMAIL = "ann@example.com";

test.for(looks())("error pages, $device, $scheme", async (options) => {
  const service = await openService();
  const { database, baseUrl } = service;
  await service.owner(EMAIL);
  const { page, look } = await service.visit(options);
  const failure = async (title: string, sentence: string | RegExp) => {
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.getByText(sentence).waitFor();
    expect(await page.locator("#request-id").innerText()).toMatch(/^[0-9a-f-]{36}$/);
    await look(`failure-${title.toLowerCase().replaceAll(" ", "-")}`);
  };

  await page.goto("/dashboard/models/nothing");
  await failure("Page not found", "This service has no model called nothing.");
  await page.getByRole("link", { name: "Sign in" }).last().click();
  await page.waitForURL("**/dashboard/sign-in");
  await signIn(page, EMAIL, PASSWORD);
  await page.goto("/dashboard/nothing");
  await failure("Page not found", "This page does not exist, or you do not have access to it.");
  await page.getByRole("link", { name: "Go to overview" }).click();
  await page.waitForURL("**/dashboard");

  await database.execute("ALTER TABLE audit_entry RENAME TO audit_entry_away");
  await page.goto("/dashboard/settings/log");
  await failure("Something went wrong", "an error on our side");
  await database.execute("ALTER TABLE audit_entry_away RENAME TO audit_entry");
  await page.getByRole("link", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Security log" }).waitFor();

  await page.goto("/dashboard/keys");
  await database.execute("DELETE FROM session");
  await page.getByRole("link", { name: "Create key" }).click();
  await page.getByText("Your session has ended.").waitFor();
  await look("session-ended");
  await page.context().clearCookies();

  // Visitors take turns: four pages that wait for a lock leave none for a fifth.
  await database.transaction(async (transaction) => {
    await transaction.execute("LOCK TABLE model IN ACCESS EXCLUSIVE MODE");
    const waiting = Array.from({ length: 4 }, () => fetch(`${baseUrl}/dashboard/models`));
    await eventually(async () => expect(await database.execute("SELECT FROM pg_locks WHERE NOT granted")).toBe(4));
    await page.goto("/dashboard/models");
    await failure("Too many requests", "Too many unauthenticated requests from your IP address. Try again in a moment.");
    await transaction.execute("SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted");
    await Promise.all(waiting);
  });
  await page.getByRole("link", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
});
