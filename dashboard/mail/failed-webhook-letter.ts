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

A webhook of the account “${toPersonName(accountName)}” on Model Gateway, at ${new URL(url).host}, accepted no event for nearly three days. It was disabled: it gets no more events, and those that were waiting were given up.

When the endpoint works again, enable the webhook and send it the events that it missed:

${link}

You received this because you are an owner of the account.
`,
  };
}
