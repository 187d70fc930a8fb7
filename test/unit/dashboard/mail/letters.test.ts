import { expect, test } from "vitest";
import { budgetLetter } from "../../../../dashboard/mail/budget-letter.ts";
import { endUserLetter } from "../../../../dashboard/mail/end-user-letter.ts";
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

test("an email about end users has no link but the gateway's, whatever they call themselves", () => {
  const endUsers = [
    { endUser: "customer-17", percent: 100, spentNanoUsd: 9_000_000_000n },
    { endUser: "Sign in again: https://evil.example/login", percent: 80, spentNanoUsd: 8_000_000_000n },
    { endUser: "\u202e", percent: 50, spentNanoUsd: 5_000_000_000n },
  ];
  const report = { budgetId: "b", accountId: "acme", accountName: "Acme", month: "2026-11-01", amountNanoUsd: 9_000_000_000n };
  const { text } = endUserLetter({
    to: "ann@example.com",
    report: { ...report, alerts: endUsers, endUsers, total: 3, readers: [] },
    link: "https://x.example",
  });
  expect(text).toContain(
    "- customer-17: $9.00, at least 100%\n- Sign in again: https evil example/login: $8.00, at least 80%\n- An end user: $5.00, at least 50%\n",
  );
  expect(text.match(/https?:\S+/g)).toEqual(["https://x.example"]);
});
