import { expect, test } from "vitest";
import { checkPersonName, toPersonName } from "../../../../ledger/people/person-name.ts";

test.for(["Ann Ørsted & Co", "J. R. R. Tolkien", "Dr. Ann O'Neil-Šmíd", "王小明", "Acme (2026), Inc.", "3.5 Labs", "A/B tests"])(
  "%s can be a name, and stays unchanged",
  (name) => {
    expect(checkPersonName(` ${name} `)).toBe(name);
    expect(toPersonName(name)).toBe(name);
  },
);

test.for([
  "Your card was declined.\n\nPay at once",
  "Ann\r\nBcc: eve",
  "Ann\u2028Eve",
  "Ann\u202eEve",
  "Ann\u200bEve",
  "Ann\u0000",
  "Pay at https://evil.example/pay",
  "HTTP://evil",
  "javascript://x",
  "www.evil",
  "Pay at evil.example now",
  "évil.example",
  "pay.evil.co.uk/x",
  "",
  " ",
  "n".repeat(101),
])("%j is not a name", (name) => {
  expect(() => checkPersonName(name)).toThrow(expect.objectContaining({ code: "invalid_request", field: "name" }));
});

test.for([
  ["ann.smith", "ann smith"],
  ["Pay at https://evil.example/pay\nnow", "Pay at https evil example/pay now"],
  ["www.evil.co.uk", "www evil co uk"],
  ["\u202eAnn\u200b", "Ann"],
] as const)("%j from another service becomes %j, which can be a name", ([given, name]) => {
  expect(toPersonName(given)).toBe(name);
  expect(checkPersonName(toPersonName(given))).toBe(name);
});
