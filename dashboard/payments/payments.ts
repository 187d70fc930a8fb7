import { createHmac } from "node:crypto";
import * as z from "zod";
import type { StripeProvider } from "./stripe.ts";
import { createTestProvider, type TestProvider } from "./test-provider.ts";

/** How customers pay, as configured. */
export type PaymentsConfig =
  | { provider: "none" }
  | { provider: "test" }
  | { provider: "stripe"; secretKey: string; webhookSecret: string };

export type Payments = StripeProvider | TestProvider;

/** Variables of the process. */
export const PAYMENTS_VARIABLES = {
  PAYMENTS: z.enum(["none", "stripe", "test"]).default("none"),
  STRIPE_SECRET_KEY: z.string().min(1).optional(),
  STRIPE_WEBHOOK_SECRET: z.string().min(1).optional(),
};

/** @throws Error if Stripe is configured without its secrets: a webhook without one would accept anything. */
export function paymentsConfig(environment: {
  PAYMENTS: "none" | "stripe" | "test";
  STRIPE_SECRET_KEY?: string | undefined;
  STRIPE_WEBHOOK_SECRET?: string | undefined;
}): PaymentsConfig {
  const { PAYMENTS: provider, STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = environment;
  if (provider !== "stripe") return { provider };
  if (secretKey === undefined || webhookSecret === undefined)
    throw new Error("PAYMENTS=stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.");
  return { provider, secretKey, webhookSecret };
}

/** @returns undefined if payments are not possible: then there is no page for them, and no address for notices. */
export async function createPayments(
  config: PaymentsConfig,
  { publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer },
): Promise<Payments | undefined> {
  switch (config.provider) {
    case "none":
      return undefined;
    case "stripe": {
      const { createStripeProvider } = await import("./stripe.ts");
      return createStripeProvider({ ...config, publicBaseUrl });
    }
    case "test":
      // The same on each replica and after a restart.
      return createTestProvider({ publicBaseUrl, secret: createHmac("sha256", pepper).update("test payments").digest("hex") });
  }
}
