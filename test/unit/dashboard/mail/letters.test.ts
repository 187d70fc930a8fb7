import { expect, test } from "vitest";
import { budgetLetter } from "../../../../dashboard/mail/budget-letter.ts";
import { invitationLetter } from "../../../../dashboard/mail/letters.ts";

test.for([
  ["owner", "as an owner"],
  ["member", "as a member"],
  ["viewer", "as a viewer"],
] as const)("an invitation names the role with its article: %s", ([role, words]) => {
  const { text } = invitationLetter({ to: "ann@example.com", accountName: "Acme", role, by: "Ben", link: "https://x.example" });
  expect(text).toContain(`${words}. The invitation expires in 7 days`);
});

test("an email about a budget names its month", () => {
  const alert = {
    budgetId: "b",
    accountId: "acme",
    keyId: null,
    personId: null,
    projectId: null,
    scope: "account",
    covers: null,
    accountName: "Acme",
    percent: 80,
    amountNanoUsd: 100_000_000_000n,
    spentNanoUsd: 81_000_000_000n,
    month: "2026-11-01",
  } as const;
  const { text } = budgetLetter({ to: "ann@example.com", alert, link: "https://x.example" });
  expect(text).toContain("spent $81.00 in November 2026 (UTC), which is at least 80% of the monthly budget of $100.00.");
});
