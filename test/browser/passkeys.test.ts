import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { PASSWORD, signIn, signOut } from "./harness-steps.ts";
import { signUpByMail, useService } from "./harness-service.ts";

/** Passkeys with Chromium's own virtual authenticator, over CDP. */
const openService = useService();
const EMAIL = "ada@example.com";

interface VirtualAuthenticator {
  /** Does its person pass the fingerprint check from now on? */
  verify(isVerified: boolean): Promise<void>;
  credentials(): Promise<number>;
}

async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    verify: async (isUserVerified) => void (await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })),
    credentials: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length,
  };
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.goto("/dashboard/settings");
  await page.getByRole("link", { name: "Add a passkey" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create passkey" }).click();
}

test("a person adds a passkey, signs in with it alone, uses it after the password, and removes it", async () => {
  const service = await openService();
  const { page, look, complaints } = await service.visit({ device: "phone" });
  const authenticator = await addAuthenticator(page);
  await signUpByMail(service, page, { name: "Ada", email: EMAIL, password: PASSWORD });
  await page.goto("/dashboard/settings/passkeys/new");
  await look("new-passkey");
  await addPasskey(page, "Ada’s laptop");
  const [recovery = ""] = (await page.locator("#recovery-codes").innerText()).trim().split("\n");
  expect(await authenticator.credentials()).toBe(1);
  await service.letterTo(EMAIL, /passkey was added/);
  await page.getByRole("link", { name: "I have saved them" }).click();
  await page.getByText("Ada’s laptop").waitFor();
  await look("settings-with-passkey");
  // The same device is not registered twice.
  await addPasskey(page, "Again");
  await page.getByText("This device already has a passkey for you.").waitFor();
  await look("new-passkey-known");

  await signOut(page);
  await look("sign-in-with-passkey");
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.waitForURL("**/dashboard");

  await signOut(page);
  await signIn(page, EMAIL, PASSWORD);
  await page.getByRole("heading", { name: "Use your passkey" }).waitFor();
  await look("sign-in-second-step");
  await authenticator.verify(false);
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await page.getByText("No passkey was used").waitFor();
  await authenticator.verify(true);
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await page.waitForURL("**/dashboard");

  await signOut(page);
  await signIn(page, EMAIL, PASSWORD);
  await page.getByLabel("Code").fill(recovery);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/dashboard");
  await page.goto("/dashboard/settings");
  await page.getByText("9 of 10 recovery codes left").waitFor();
  await page.getByRole("link", { name: "Remove the passkey" }).click();
  await page.getByRole("button", { name: "Remove passkey" }).click();
  await page.getByText("to protect your account").waitFor();
  await service.letterTo(EMAIL, /passkey was removed/);

  await signOut(page);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByText("This passkey is not registered here").waitFor();
  await look("sign-in-passkey-unknown");
  // The browser names the pages that answered 401.
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
});

test("a passkey confirms a recent sign-in before a token is created", async () => {
  const service = await openService();
  const { page, look } = await service.visit({ scheme: "dark" });
  await addAuthenticator(page);
  await signUpByMail(service, page, { name: "Ada", email: EMAIL, password: PASSWORD });
  // On a slow network people fill in the form before its script arrives; the button waits for the script.
  await page.route("**/passkey*.js", async (route) => {
    await setTimeout(1000);
    await route.continue();
  });
  await addPasskey(page, "Laptop");
  await page.getByRole("link", { name: "I have saved them" }).click();
  await service.database.execute("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  await page.goto("/dashboard/tokens");
  await page.getByLabel("Name").fill("deploy");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("heading", { name: "Confirm that it is you" }).waitFor();
  await look("confirm-identity-with-passkey");
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await page.waitForURL("**/dashboard/tokens");
  await page.getByLabel("Name").fill("deploy");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("you will not see it again").waitFor();
});

test("without scripts the pages explain what passkeys need, and the password still works", async () => {
  const service = await openService();
  await service.owner(EMAIL);
  const { page, look } = await service.visit({ hasScript: false });
  await page.goto("/dashboard/sign-in");
  await page.getByText("Passkeys need an up-to-date browser").waitFor();
  await look("sign-in-without-script");
});
