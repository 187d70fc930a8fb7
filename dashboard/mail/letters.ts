import type { StoppedAutoTopUp } from "../../ledger/payments/auto-top-up.ts";
import type { Role } from "../../ledger/people/members.ts";
import { toPersonName } from "../../ledger/people/person-name.ts";
import { aRole } from "../views/role-names.ts";
import type { Letter } from "./letter.ts";

/** Emails to people: each explains why it was sent, and what happens without a reaction. */

export function resetLetter({ to, name, link }: { to: string; name: string; link: string }): Letter {
  return {
    to,
    subject: "Reset your Model Gateway password",
    text: `Hello ${toPersonName(name)},

We received a request to reset your password. Choose a new one within an hour:

${link}

If you did not request this, ignore this email: your password stays the same. If you never signed up yourself, review the account's keys, tokens and members after signing in, and delete any that are not yours.
`,
  };
}

export function confirmLetter({ to, name, link }: { to: string; name: string; link: string }): Letter {
  return {
    to,
    subject: "Confirm your email address for Model Gateway",
    text: `Hello ${toPersonName(name)},

Confirm that this email address is yours within 24 hours:

${link}

If you did not request this, ignore this email. If someone else signed up with your address, use "Forgot your password?" on the sign-in page to take over the account.
`,
  };
}

export function changeEmailLetter({ to, name, link }: { to: string; name: string; link: string }): Letter {
  return {
    to,
    subject: "Confirm your new email address for Model Gateway",
    text: `Hello ${toPersonName(name)},

Confirm within an hour that you want to sign in to Model Gateway with this address:

${link}

If you did not request this, ignore this email: nothing changes without this link.
`,
  };
}

/** Sent instead of that link, so that the page does not reveal who has an account. */
export function emailTakenLetter({ to }: { to: string }): Letter {
  return {
    to,
    subject: "This address already has a Model Gateway account",
    text: `Hello,

Someone asked to sign in to Model Gateway with this address, but it already has an account. Nothing was changed.

If this was you, sign in with this address or choose another one.
`,
  };
}

export interface ClosedAccountLetter {
  to: string;
  accountName: string;
  /** The person who closed it. */
  by: string;
  /** Remaining credit, in USD. */
  left: string;
  link: string;
}

export function closedAccountLetter({ to, accountName, by, left, link }: ClosedAccountLetter): Letter {
  return {
    to,
    subject: `${toPersonName(accountName)}: account closed`,
    text: `Hello,

${by} closed the account “${toPersonName(accountName)}” on Model Gateway. Its keys are disabled, and everyone in it was signed out. The remaining credit of ${left} stays on record.

You can still sign in to read usage and receipts. If this was a mistake, contact the operator of the service, who can reactivate the account:

${link}

You received this because you are an owner of the account.
`,
  };
}

/** Sent instead of a sign-up link, so that the page does not reveal who has an account. */
export function knownAddressLetter({ to, link }: { to: string; link: string }): Letter {
  return {
    to,
    subject: "You already have a Model Gateway account",
    text: `Hello,

We received a request to sign up for Model Gateway with this address, but it already has an account. Sign in or reset your password:

${link}

If you did not request this, ignore this email.
`,
  };
}

export function addressLetter({ to, link }: { to: string; link: string }): Letter {
  return {
    to,
    subject: "Sign up for Model Gateway",
    text: `Hello,

Continue signing up for Model Gateway with this link. It expires in an hour:

${link}

If you did not request this, ignore this email: nobody can sign up with your address without this link.
`,
  };
}

export interface InvitationLetter {
  to: string;
  accountName: string;
  role: Role;
  /** Who invites. */
  by: string;
  link: string;
}

export function invitationLetter({ to, accountName, role, by, link }: InvitationLetter): Letter {
  return {
    to,
    subject: `Join ${toPersonName(accountName)} on Model Gateway`,
    text: `Hello,

${toPersonName(by)} invited you to join the account “${toPersonName(accountName)}” on Model Gateway as ${aRole(role)}. The invitation expires in 7 days:

${link}

If you do not want to join, ignore this email.
`,
  };
}

export interface LowBalanceLetter {
  to: string;
  accountName: string;
  balance: string;
  threshold: string;
  link: string;
}

export function lowBalanceLetter({ to, accountName, balance, threshold, link }: LowBalanceLetter): Letter {
  return {
    to,
    subject: `${toPersonName(accountName)}: low balance, ${balance} left`,
    text: `Hello,

The balance of the account “${toPersonName(accountName)}” on Model Gateway has fallen below ${threshold}: ${balance} is left. At zero, requests are refused. Add credit:

${link}

You received this because you are an owner of the account. Change or turn off this alert on the same page.
`,
  };
}

export interface AutoTopUpStoppedLetter {
  to: string;
  accountName: string;
  because: StoppedAutoTopUp["because"];
  link: string;
}

export function autoTopUpStoppedLetter({ to, accountName, because, link }: AutoTopUpStoppedLetter): Letter {
  const reason = {
    declined: " The saved card was declined.",
    returned: " A payment was refunded or disputed.",
    other: "",
  }[because];
  return {
    to,
    subject: `${toPersonName(accountName)}: automatic top-up is off`,
    text: `Hello,

Automatic top-up of the account “${toPersonName(accountName)}” on Model Gateway is off.${reason} Nothing more will be charged, and requests are refused once the balance reaches zero. Add another card or turn it on again:

${link}

You received this because you are an owner of the account.
`,
  };
}
