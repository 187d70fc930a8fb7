import { toPersonName } from "../../ledger/people/person-name.ts";
import type { Letter } from "./letter.ts";

export interface FailedWebhookLetter {
  to: string;
  accountName: string;
  url: string;
  link: string;
}

/** Names only the host: the rest of an address may be secret. */
export function failedWebhookLetter({ to, accountName, url, link }: FailedWebhookLetter): Letter {
  return {
    to,
    subject: `${toPersonName(accountName)}: a webhook was disabled`,
    text: `Hello,

The webhook of the account “${toPersonName(accountName)}” on Model Gateway at ${new URL(url).host} accepted no events for nearly three days, so it was disabled. It receives no more events, and waiting ones were dropped.

Once your server works again, enable the webhook and resend the events that it missed:

${link}

You received this because you are an owner of the account.
`,
  };
}
