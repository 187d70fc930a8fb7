import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import { keyOnPage, makeKey, PASSWORD, signIn, signOut, signUp } from "./harness-steps.ts";
import { useStage } from "./harness-stage.ts";

const { visit } = useStage();

test("a stranger's wrong guesses lock out the stranger, not the owner's own browser", async () => {
  const email = "guessed@example.com";
  const [owner, stranger] = [await visit(), await visit({ device: "phone", scheme: "dark" })];
  await signUp(owner.page, { name: "Guessed", email });
  await owner.page.waitForURL("**/dashboard");
  await signOut(owner.page);
  for (let guess = 0; guess < 9; guess++) await signIn(stranger.page, email, `wrong guess number ${guess}`);
  await stranger.page.getByText("Too many failed sign-ins").waitFor();
  await stranger.look("locked-out");
  await signIn(stranger.page, email, PASSWORD);
  await stranger.page.getByText("Too many failed sign-ins").waitFor();

  await signIn(owner.page, email, PASSWORD);
  await owner.page.waitForURL("**/dashboard");
  expect(await owner.page.getByRole("heading", { level: 1 }).innerText()).not.toBe("Sign in");
});

test("a name with a link, or a password that is easy to guess, is rejected next to its field", async () => {
  const { page, look } = await visit({ device: "phone" });
  await signUp(page, { name: "Pay at https://evil.example", email: "names@example.com" });
  await page.getByText("A name cannot contain a web address").waitFor();
  await look("sign-up-name");
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("Password").fill("password12");
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByText("This password is easy to guess").waitFor();
  await look("sign-up-password");
});

test("reloading the page of a new key, or going back to it, makes no other key and does not rotate it again", async () => {
  const { page } = await visit();
  await signUp(page, { name: "Ada", email: "reloads@example.com" });
  await page.waitForURL("**/dashboard");
  await makeKey(page, "laptop");
  await page.reload();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  expect(await page.getByRole("link", { name: "laptop", exact: true }).count()).toBe(1);

  await page.getByLabel("Actions for laptop").click();
  await page.getByRole("link", { name: "Rotate laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  await keyOnPage(page);
  await page.goto("/dashboard/usage");
  await page.goBack();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await page.goto("/dashboard/settings/log");
  expect(await page.getByText("Rotated an API key").count()).toBe(1);
});

test("removing a member also deletes the keys that they created, and only owners see the card's form", async () => {
  const [owner, member] = [await visit({ device: "phone", scheme: "dark" }), await visit()];
  await signUp(owner.page, { name: "Team", email: "team-owner@example.com" });
  await owner.page.goto("/dashboard/members");
  await owner.page.getByLabel("Email").fill("team-member@example.com");
  await owner.page.getByRole("button", { name: "Invite", exact: true }).click();
  const link = (await owner.page.locator("#link").innerText()).trim();
  await owner.look("invited");

  await member.page.goto(link);
  await member.page.getByRole("link", { name: "Sign up" }).click();
  await member.page.getByLabel("Name").fill("Mallory");
  await member.page.getByLabel("Email").fill("team-member@example.com");
  await member.page.getByLabel("Password").fill(PASSWORD);
  await member.page.getByRole("button", { name: "Sign up" }).click();
  await member.page.waitForURL("**/dashboard");
  await makeKey(member.page, "of Mallory");
  await member.page.goto("/dashboard/credit");
  await member.page.getByText("Only owners of this account can change this.").waitFor();
  expect(await member.page.getByLabel("Charge (USD)").count()).toBe(0);
  await member.look("credit-of-a-member");

  await owner.page.goto("/dashboard/members");
  await owner.page.getByLabel("Actions for Mallory").click();
  await owner.page.getByRole("link", { name: "Remove Mallory" }).click();
  await owner.page.getByText("of Mallory").waitFor();
  await owner.look("remove-member");
  await owner.page.getByRole("button", { name: "Remove member" }).click();
  await owner.page.waitForURL("**/dashboard/members");
  await owner.page.goto("/dashboard/keys");
  expect(await owner.page.content()).not.toContain("of Mallory");
  await owner.page.goto("/dashboard/settings/log");
  await owner.page.getByText("Removed a member").first().waitFor();
  await owner.look("security-log");
});

test("a person sets up a second factor, and signs in with a code and with a recovery code", async () => {
  const email = "careful@example.com";
  const { page, look } = await visit({ device: "phone" });
  await signUp(page, { name: "Careful", email });
  await page.goto("/dashboard/settings");
  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  const secret = (await page.locator("#totp-secret").innerText()).trim();
  const code = (steps: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 });
  await look("second-factor");
  await page.getByLabel("Code", { exact: true }).fill("000000");
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("This code is wrong").waitFor();
  await page.getByLabel("Code", { exact: true }).fill(code(0));
  await page.getByRole("button", { name: "Turn on" }).click();
  const [recovery = ""] = (await page.locator("#recovery-codes").innerText()).trim().split("\n");
  await look("recovery-codes");
  await page.getByRole("link", { name: "I have saved them" }).click();
  await page.getByText("10 of 10 recovery codes left").waitFor();
  await look("settings-with-second-factor");

  for (const text of [code(1), recovery]) {
    await signOut(page);
    await signIn(page, email, PASSWORD);
    await page.getByRole("heading", { name: "Enter your code" }).waitFor();
    await look("sign-in-code");
    await page.getByLabel("Code", { exact: true }).fill(text);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/dashboard");
  }
  await page.goto("/dashboard/settings");
  await page.getByText("9 of 10 recovery codes left").waitFor();
  await page.getByRole("link", { name: "Generate new recovery codes" }).click();
  const asking = page.getByRole("dialog", { name: "Generate new recovery codes?" });
  await asking.getByText("The 9 codes that you have left").waitFor();
  await look("new-recovery-codes");
  await asking.getByRole("link", { name: "Cancel" }).click();
  await page.getByText("9 of 10 recovery codes left").waitFor();
  await page.getByRole("link", { name: "Generate new recovery codes" }).click();
  await asking.getByRole("button", { name: "Generate new codes" }).click();
  await page.getByText("Save these codes now").waitFor();
});
