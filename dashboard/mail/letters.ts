import { toPersonName } from "../../ledger/people/person-name.ts";
import type { Letter } from "./letter.ts";

/** What people are written: each says why it came, and what happens when they do nothing. */

export function resetLetter({ to, name, link }: { to: string; name: string; link: string }): Letter {
  return {
    to,
    subject: "A new password for Model Gateway",
    text: `Hello ${toPersonName(name)},

somebody asked for a new password for your account, we hope it was you. Choose one here, within an hour:

${link}

If it was not you, do nothing: your password stays as it is. If you never signed up here yourself, look through the account's keys, tokens and members afterwards, and delete those that are not yours.
`,
  };
}

export function confirmLetter({ to, name, link }: { to: string; name: string; link: string }): Letter {
  return {
    to,
    subject: "Confirm your address for Model Gateway",
    text: `Hello ${toPersonName(name)},

confirm that this address is yours, within a day:

${link}

If you did not ask for this, do nothing. If somebody else signed up here with your address, take the account over with "Forgot your password?" on the sign-in page.
`,
  };
}

/** Instead of a link to sign up, so that the page need not say who is here already. */
export function knownAddressLetter({ to, link }: { to: string; link: string }): Letter {
  return {
    to,
    subject: "You have signed up for Model Gateway already",
    text: `Hello,

somebody, we hope it was you, wants to sign up for Model Gateway with this address. You have done so already. Sign in, or choose a new password, here:

${link}

If it was not you, do nothing.
`,
  };
}

export function addressLetter({ to, link }: { to: string; link: string }): Letter {
  return {
    to,
    subject: "Sign up for Model Gateway",
    text: `Hello,

somebody wants to sign up for Model Gateway with this address, we hope it is you. Go on here, within an hour:

${link}

If it was not you, do nothing: nobody can sign up with your address without this link.
`,
  };
}

export interface InvitationLetter {
  to: string;
  accountName: string;
  role: string;
  /** Who invites. */
  by: string;
  link: string;
}

export function invitationLetter({ to, accountName, role, by, link }: InvitationLetter): Letter {
  return {
    to,
    subject: `You are invited to ${toPersonName(accountName)} on Model Gateway`,
    text: `Hello,

${toPersonName(by)} invites you to the account “${toPersonName(accountName)}” on Model Gateway, as ${role}. Join here, within 7 days:

${link}

If you do not want to, do nothing.
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
    subject: `${accountName}: ${balance} of credit are left`,
    text: `Hello,

the credit of the account “${accountName}” on Model Gateway has fallen below ${threshold}: ${balance} are left. At zero, requests are refused. Add credit here:

${link}

You get this because you are an owner of the account. On the same page you choose when to be told, or not to be.
`,
  };
}

export interface AutoTopUpStoppedLetter {
  to: string;
  accountName: string;
  because: "declined" | "returned";
  link: string;
}

export function autoTopUpStoppedLetter({ to, accountName, because, link }: AutoTopUpStoppedLetter): Letter {
  const reason = { declined: "The saved card was declined", returned: "A payment was returned or disputed" }[because];
  return {
    to,
    subject: `${accountName}: automatic top-up is off`,
    text: `Hello,

automatic top-up of the account “${accountName}” on Model Gateway is off. ${reason}. Nothing more is charged, and at zero credit requests are refused. Save another card, or turn it on again, here:

${link}

You get this because you are an owner of the account. If you do nothing, it stays off.
`,
  };
}
