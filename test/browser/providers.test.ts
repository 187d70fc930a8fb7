import type { Page } from "playwright-core";
import { test } from "vitest";
import { callbackPath } from "../../dashboard/oidc/paths.ts";
import { providerDomains } from "../../dashboard/oidc/provider-domains.ts";
import { createProvider } from "../../dashboard/oidc/create-provider.ts";
import { startGithub, type TestGithub } from "../support/servers/github-server.ts";
import { startOidcProvider, type TestOidcProvider } from "../support/servers/oidc-provider.ts";
import { signOut } from "./harness-steps.ts";
import { useService, type TestService } from "./harness-service.ts";

/** Signing in at GitHub and at a company's own service, as people click it. */
const openService = useService();
const ANN = { sub: "ann-1", email: "ann@example.com", email_verified: true, name: "Ann" };
const OCTO = {
  id: 583231,
  login: "octo",
  name: "Octo Cat",
  emails: [{ email: "octo@example.org", primary: true, verified: true }],
};

async function open(domains: string): Promise<{ service: TestService; acme: TestOidcProvider; github: TestGithub }> {
  const started = Promise.withResolvers<{ acme: TestOidcProvider; github: TestGithub }>();
  const service = await openService(async (publicBaseUrl) => {
    const at = (id: "oidc" | "github") => ({ redirectUri: `${publicBaseUrl}${callbackPath(id)}` });
    const [acme, github] = [await startOidcProvider(at("oidc")), await startGithub(at("github"))];
    started.resolve({ acme, github });
    const { clientId, clientSecret, url } = github;
    const configs = [
      { ...acme, id: "oidc", name: "Acme", hasSecondFactor: false, hasAuthTime: true },
      { clientId, clientSecret, url, id: "github", name: "GitHub" },
    ] as const;
    return {
      providers: configs.map((config) => createProvider(config, { publicBaseUrl })),
      providerDomains: providerDomains({ PROVIDER_DOMAINS: domains }, configs),
    };
  });
  return { service, ...(await started.promise) };
}

async function isSignedInAs(page: Page, name: string): Promise<void> {
  await page.waitForURL("**/dashboard");
  await page.locator("details.account-menu summary").getByText(name).waitFor({ state: "attached" });
}

test("a person signs up with GitHub in one click, returns with another, and may cancel", async () => {
  const { service, github } = await open("");
  const { page, look } = await service.visit({ device: "phone" });
  await page.goto("/dashboard/sign-in");
  await look("sign-in-with-providers");
  await page.getByRole("link", { name: "Sign in with GitHub" }).click();
  await page.getByText("GitHub").first().waitFor();
  await page.getByText("GitHub did not sign you in").waitFor();
  await look("cancelled-at-github");
  github.user = OCTO;
  for (const visit of ["first", "second"]) {
    await page.goto("/dashboard/sign-in");
    await page.getByRole("link", { name: "Sign in with GitHub" }).click();
    await isSignedInAs(page, OCTO.name);
    await look(`signed-in-at-github-${visit}`);
    await signOut(page);
  }
});

test("an address of a bound domain is directed to its own provider, which signs it in", async () => {
  const { service, acme } = await open("example.com=oidc");
  acme.user = ANN;
  const { page, look } = await service.visit({ scheme: "dark" });
  await page.goto("/dashboard/sign-in");
  await page.getByLabel("Email").fill(ANN.email);
  await page.getByLabel("Password").fill("whatever it was before");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("example.com").first().waitFor();
  await look("led-to-acme");
  await page.getByRole("link", { name: "Sign in with Acme" }).click();
  await isSignedInAs(page, ANN.name);
});
