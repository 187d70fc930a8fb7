import { TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { test } from "vitest";
import * as z from "zod";
import { PASSWORD, signIn } from "./harness-steps.ts";
import { signUpByMail, useService } from "./harness-service.ts";

const openService = useService();
const idRow = z.strictObject({ id: z.string() });

async function setUpApp(page: Page): Promise<void> {
  const secret = (await page.locator("#totp-secret").innerText()).trim();
  await page.getByLabel("Code", { exact: true }).fill(new TOTP({ secret }).generate());
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("link", { name: "I have saved them" }).click();
}

test("an owner requires a second factor, and a member must set one up before anything else", async () => {
  const service = await openService();
  const [owner, member] = [await service.visit(), await service.visit({ device: "phone", scheme: "dark" })];
  await signUpByMail(service, owner.page, { name: "Team", email: "owner@example.com", password: PASSWORD });
  await owner.page.goto("/dashboard/settings/second-factor");
  await owner.look("set-up-app");
  await setUpApp(owner.page);
  const accountId = (await service.database.query({ text: "SELECT id FROM account", row: idRow }))[0]?.id ?? "";
  await service.inAccount(accountId, "member", "member@example.com");
  await service.database.execute("UPDATE person SET email_verified_at = now()");
  await service.database.execute("DELETE FROM member WHERE account_id <> $1", [accountId]);

  await owner.page.goto("/dashboard/members");
  await owner.look("members-optional");
  await owner.page.getByRole("button", { name: "Require two-factor authentication" }).click();
  await owner.page.getByText("Members without it must set it up").waitFor();
  await owner.look("members-required");
  await service.letterTo("owner@example.com", /two-factor authentication is required/);

  const { page, look } = member;
  await signIn(page, "member@example.com", "correct horse battery");
  await page.getByText("Team requires two-factor authentication. Set it up to continue.").waitFor();
  await page.goto("/dashboard/credit");
  await page.getByRole("heading", { name: "Set up an authenticator app" }).waitFor();
  await look("led-to-set-up");
  await setUpApp(page);
  await page.goto("/dashboard/credit");
  await page.getByRole("heading", { name: "Credit", exact: true }).waitFor();
});
