import { toPersonName } from "../../ledger/people/person-name.ts";
import type { Letter } from "./letter.ts";

export interface FailedTracesLetter {
  to: string;
  accountName: string;
  /** Of the destination. */
  name: string;
  url: string;
  link: string;
}

/** Names only the host: the rest of an address may be secret. What its server answered is on the page. */
export function failedTracesLetter({ to, accountName, name, url, link }: FailedTracesLetter): Letter {
  return {
    to,
    subject: `${toPersonName(accountName)}: a trace destination was disabled`,
    text: `Hello,

The trace destination “${toPersonName(name)}” of the account “${toPersonName(accountName)}” on Model Gateway, at ${new URL(url).host}, accepted no traces for three days, so it was disabled. It receives no more traces, and waiting ones were dropped.

Its page shows the last error of its server. Once the server works again, enable the destination:

${link}

You received this because you are an owner of the account.
`,
  };
}
