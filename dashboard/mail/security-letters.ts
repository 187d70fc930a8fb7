import { toPersonName } from "../../ledger/people/person-name.ts";
import type { Person } from "../../ledger/people/persons.ts";
import type { Letter } from "./letter.ts";

/** Emails about the security of a sign-in; each explains what to do if it was somebody else. */

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
    news: `A new browser signed in to your account: ${browser}, from ${address}, on ${momentOf(at)}.`,
  });
}

export function newPasswordLetter(to: ToPerson): Letter {
  return securityLetter({
    ...to,
    subject: "Your Model Gateway password was changed",
    news: "Your password was changed, and all other sessions were signed out.",
  });
}

/** To the old address. */
export function changedEmailLetter({ to, ...about }: ToPerson & { to: string }): Letter {
  return {
    to: about.person.email,
    subject: "Your Model Gateway email address was changed",
    text: `Hello ${toPersonName(about.person.name)},

You now sign in to Model Gateway as ${to} instead of with this address. All other sessions were signed out.

If this was not you, contact the operator of the service immediately: someone else has access to your account.

${about.publicBaseUrl}
`,
  };
}

export function secondFactorLetter({ isOn, ...to }: ToPerson & { isOn: boolean }): Letter {
  const change = isOn ? "added to" : "removed from";
  return securityLetter({
    ...to,
    subject: `An authenticator app was ${change} your Model Gateway account`,
    news: `An authenticator app was ${change} your account.`,
  });
}

export function passkeyLetter({ name, isAdded, ...to }: ToPerson & { name: string; isAdded: boolean }): Letter {
  const what = isAdded ? "added to" : "removed from";
  return securityLetter({
    ...to,
    subject: `A passkey was ${what} your Model Gateway account`,
    news: `The passkey “${toPersonName(name)}” was ${what} your account.${isAdded ? " It can be used to sign in as you." : ""}`,
  });
}

export function recoveryCodesLetter(to: ToPerson): Letter {
  return securityLetter({
    ...to,
    subject: "New recovery codes for Model Gateway",
    news: "New recovery codes were generated for your account. The old ones no longer work.",
  });
}

interface AboutAccount extends ToPerson {
  accountName: string;
  /** The person who did it. */
  by: Pick<Person, "email">;
}

export function newTokenLetter({ name, accountName, by, ...to }: AboutAccount & { name: string }): Letter {
  return accountLetter({
    ...to,
    accountName,
    subject: "New management token",
    news: `${by.email} created the management token “${toPersonName(name)}”. Anyone who has it can manage the account.`,
    page: "/dashboard/tokens",
  });
}

export function memberJoinedLetter({ accountName, by, ...to }: AboutAccount): Letter {
  return accountLetter({
    ...to,
    accountName,
    subject: "New member",
    news: `${by.email} accepted an invitation and joined.`,
    page: "/dashboard/members",
  });
}

export function memberLeftLetter({ accountName, by, email, ...to }: AboutAccount & { email: string }): Letter {
  return accountLetter({
    ...to,
    accountName,
    subject: "Member removed",
    news: by.email === email ? `${email} left the account.` : `${by.email} removed ${email} from the account.`,
    page: "/dashboard/members",
  });
}

export function secondFactorRuleLetter({ accountName, by, isRequired, ...to }: AboutAccount & { isRequired: boolean }): Letter {
  return accountLetter({
    ...to,
    accountName,
    subject: isRequired ? "Two-factor authentication is required" : "Two-factor authentication is no longer required",
    news: isRequired
      ? `${by.email} made two-factor authentication required for all members.`
      : `${by.email} made two-factor authentication optional.`,
    page: "/dashboard/members",
  });
}

function accountLetter({
  person,
  accountName,
  publicBaseUrl,
  subject,
  news,
  page,
}: ToPerson & { accountName: string; subject: string; news: string; page: string }): Letter {
  const account = toPersonName(accountName);
  return {
    to: person.email,
    subject: `${account}: ${subject[0]?.toLowerCase() ?? ""}${subject.slice(1)}`,
    text: `Hello ${toPersonName(person.name)},

In the account “${account}” on Model Gateway: ${news}

If you did not expect this, review the account:

${publicBaseUrl}${page}

You received this because you are, or were, a member of the account.
`,
  };
}

function securityLetter({ person, publicBaseUrl, subject, news }: ToPerson & { subject: string; news: string }): Letter {
  return {
    to: person.email,
    subject,
    text: `Hello ${toPersonName(person.name)},

${news}

If this was you, no action is needed. If not, change your password and sign out all other sessions:

${publicBaseUrl}/dashboard/settings
`,
  };
}

function momentOf(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
