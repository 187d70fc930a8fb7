import { expect, test } from "vitest";
import { createPayments, paymentsConfig } from "../../../../dashboard/payments/payments.ts";

const deps = { publicBaseUrl: "https://gateway.example", pepper: Buffer.alloc(32, 7) };

test("Stripe is never started without both secrets, and the error contains neither", () => {
  const complaint = "PAYMENTS=stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.";
  expect(() => paymentsConfig({ PAYMENTS: "stripe", STRIPE_SECRET_KEY: "sk_live_x" })).toThrow(complaint);
  expect(() => paymentsConfig({ PAYMENTS: "stripe", STRIPE_WEBHOOK_SECRET: "whsec_x" })).toThrow(complaint);
});

test("nobody can pay unless a provider is configured", async () => {
  expect(await createPayments(paymentsConfig({ PAYMENTS: "none", STRIPE_SECRET_KEY: "sk_live_x" }), deps)).toBeUndefined();
  expect((await createPayments(paymentsConfig({ PAYMENTS: "test" }), deps))?.name).toBe("test");
});
