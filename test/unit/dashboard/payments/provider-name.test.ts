import { expect, test } from "vitest";
import { providerName } from "../../../../dashboard/payments/provider-name.ts";

test("payment providers have a display name, and those of newer versions their own", () => {
  expect(["stripe", "test", "another"].map(providerName)).toEqual(["Stripe", "Test payment", "another"]);
});
