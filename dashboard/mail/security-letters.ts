import { toPersonName } from "../../ledger/people/person-name.ts";
import type { Person } from "../../ledger/people/persons.ts";
import type { Letter } from "./letter.ts";

/** What people are told about the safety of their sign-in; each says what to do if it was somebody else. */

interface ToPerson {
  person: Pick<Person, "email" | "name">;
  publicBaseUrl: string;
}

export interface NewBrowserLetter extends ToPerson {
  browser: string;
  /** IP address. */
  address: string;
  at: Date;
}

export function newBrowserLetter({ person, browser, address, at, publicBaseUrl }: NewBrowserLetter): Letter {
  return securityLetter({
    person,
    publicBaseUrl,
    subject: "New sign-in to Model Gateway",
    news: `Somebody signed in as you from a browser that we had not seen before: ${browser}, from ${address}, on ${momentOf(at)}.`,
  });
}

function securityLetter({ person, publicBaseUrl, subject, news }: ToPerson & { subject: string; news: string }): Letter {
  return {
    to: person.email,
    subject,
    text: `Hello ${toPersonName(person.name)},

${news}

If this was you, there is nothing to do. If it was not, change your password and sign out all other browsers:

${publicBaseUrl}/dashboard/settings
`,
  };
}

function momentOf(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
