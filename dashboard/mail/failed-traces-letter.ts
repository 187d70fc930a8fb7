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

The trace destination “${toPersonName(name)}” of the account “${toPersonName(accountName)}” on Model Gateway, at ${new URL(url).host}, has accepted nothing for three days. It is now disabled: it gets no more traces, and those that were waiting are dropped.

Its page shows what its server answered last. When it works again, enable it there:

${link}

You received this because you are an owner of the account.
`,
  };
}
