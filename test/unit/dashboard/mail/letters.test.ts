import { expect, test } from "vitest";
import { invitationLetter } from "../../../../dashboard/mail/letters.ts";

test.for([
  ["owner", "as an owner"],
  ["member", "as a member"],
  ["viewer", "as a viewer"],
] as const)("an invitation names the role with its article: %s", ([role, words]) => {
  const { text } = invitationLetter({ to: "ann@example.com", accountName: "Acme", role, by: "Ben", link: "https://x.example" });
  expect(text).toContain(`${words}. The invitation expires in 7 days`);
});
