import { expect, test } from "vitest";
import { paymentProviderName } from "../../../../dashboard/payments/provider-name.ts";

test("payment providers have a display name, and those of newer versions their own", () => {
  expect(["stripe", "test", "another"].map(paymentProviderName)).toEqual(["Stripe", "Test payment", "another"]);
});
