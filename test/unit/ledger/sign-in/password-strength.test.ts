import { expect, test } from "vitest";
import { checkStrength } from "../../../../ledger/sign-in/password-strength.ts";

test.for([
  "password12",
  "Password123",
  "qwertyuiop",
  "1234567890",
  "iloveyou12",
  "aaaaaaaaaaaa",
  "p4ssw0rd".repeat(20),
  "ann.lovelace",
])("%s is rejected as easy to guess", async (password) => {
  await expect(checkStrength(password, ["ann.lovelace@example.com", "Ann Lovelace"])).rejects.toMatchObject({
    code: "invalid_request",
    field: "password",
  });
});

test.for(["a few words together", "correct horse battery", "xK3vQp9-TzW1", "abcdefghij0123456789 and more of it ".repeat(5)])(
  "%s is accepted",
  async (password) => {
    await expect(checkStrength(password, ["ann.lovelace@example.com", "Ann Lovelace"])).resolves.toBeUndefined();
  },
);
