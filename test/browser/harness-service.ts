import type { Browser, Page } from "playwright-core";
import { beforeAll, onTestFinished } from "vitest";
import type { AppDeps } from "../../dashboard/app-deps.ts";
import type { Letter } from "../../dashboard/mail/letter.ts";
import { createPasskeys } from "../../dashboard/passkeys/passkeys.ts";
import { relyingPartyOf } from "../../dashboard/passkeys/relying-party.ts";
import { createPayments } from "../../dashboard/payments/payments.ts";
import { freePort, LOOPBACK } from "../../local/process/ports.ts";
import { sharedChromium } from "../support/chromium/chromium.ts";
import { openDashboard, type TestDashboard } from "../support/dashboard/dashboard.ts";
import { eventually } from "../support/eventually.ts";
import { PEPPER } from "../support/billing/ledger.ts";
import { useOwnPostgres } from "../support/billing/postgres.ts";
import { visit, type Visit, type VisitOptions } from "./harness-visit.ts";

/** The dashboard as a service has it, with a name and with mail that arrives: what `npm start` on an IP address has not. */
export interface TestService extends TestDashboard {
  baseUrl: string;
  visit(options?: Omit<VisitOptions, "baseUrl">): Promise<Visit>;
  /** The last letter to this address, once it is there. */
  letterTo(email: string, subject: RegExp): Promise<Letter>;
}

type Options = (baseUrl: string) => Partial<AppDeps> | Promise<Partial<AppDeps>>;

/** One Postgres for a file of tests; each test opens a service of its own. */
export function useService(): (options?: Options) => Promise<TestService> {
  const postgres = useOwnPostgres();
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await sharedChromium();
  });

  return async (options = () => ({})) => {
    const { database } = await postgres.migrated();
    const port = await freePort();
    // Browsers take this name for a secure place: passkeys work there without a certificate.
    const publicBaseUrl = `http://localhost:${port}`;
    const relyingParty = relyingPartyOf(publicBaseUrl);
    const letters: Letter[] = [];
    const dashboard = await openDashboard(database, {
      publicBaseUrl,
      payments: await createPayments({ provider: "test" }, { publicBaseUrl, pepper: PEPPER }),
      passkeys: relyingParty && createPasskeys(relyingParty, { database, pepper: PEPPER }),
      mailer: { outbox: null, send: async (letter) => void letters.push(letter) },
      ...(await options(publicBaseUrl)),
    });
    await dashboard.app.listen({ host: LOOPBACK, port });
    return {
      ...dashboard,
      baseUrl: publicBaseUrl,
      async visit(visitOptions = {}) {
        if (browser === undefined) throw new Error("The browser is not running yet.");
        const made = await visit(browser, { ...visitOptions, baseUrl: publicBaseUrl });
        onTestFinished(() => made.close());
        return made;
      },
      letterTo: (email, subject) =>
        eventually(async () => {
          const letter = letters.findLast((each) => each.to === email && subject.test(each.subject));
          if (letter === undefined) throw new Error(`no such letter to ${email}: ${letters.map((each) => each.subject).join()}`);
          return letter;
        }),
    };
  };
}

/** The link of a letter. */
export function linkIn({ text }: Letter): string {
  return /https?:\/\/\S+/.exec(text)?.[0] ?? "";
}

/** By the link that is mailed, as people do where mail arrives. */
export async function signUpByMail(
  { letterTo }: TestService,
  page: Page,
  { name, email, password }: { name: string; email: string; password: string },
): Promise<void> {
  await page.goto("/dashboard/sign-up");
  await page.getByLabel("Email").fill(email);
  await page.getByRole("button", { name: "Send sign-up link" }).click();
  await page.goto(linkIn(await letterTo(email, /Sign up/)));
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.waitForURL("**/dashboard");
}
