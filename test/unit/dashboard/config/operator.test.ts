import { expect, test } from "vitest";
import { OPERATOR_VARIABLES, operatorConfig } from "../../../../dashboard/config/operator.ts";
import { readEnv } from "../../../../runtime/env.ts";

const read = (environment: Record<string, string>) => operatorConfig(readEnv(OPERATOR_VARIABLES, environment));

test("the seller's address has lines, whether or not a setting can contain line breaks", () => {
  const seller = { name: "GmbH", addressLines: ["Way 1", "Town"], taxId: "DE1" };
  for (const address of ["Way 1\nTown", "Way 1\\nTown", " Way 1 \r\n\r\nTown\n"])
    expect(read({ SELLER_NAME: "GmbH", SELLER_ADDRESS: address, SELLER_TAX_ID: "DE1" })).toEqual({ seller, support: undefined });
});

test("without settings there is no seller and no contact", () => {
  expect(read({})).toEqual({ seller: undefined, support: undefined });
  expect(read({ SUPPORT_CONTACT: "" })).toEqual({ seller: undefined, support: undefined });
});

test("an address without a name, and an invalid contact, are rejected", () => {
  expect(() => read({ SELLER_ADDRESS: "Way 1" })).toThrow("need SELLER_NAME");
  expect(() => read({ SUPPORT_CONTACT: "javascript:alert(1)" })).toThrow("SUPPORT_CONTACT: must be an email address");
  expect(() => read({ SUPPORT_CONTACT: "http://example.com" })).toThrow("SUPPORT_CONTACT");
  expect(read({ SUPPORT_CONTACT: "help@example.com" }).support).toBe("help@example.com");
  expect(read({ SUPPORT_CONTACT: "https://example.com/help" }).support).toBe("https://example.com/help");
});
