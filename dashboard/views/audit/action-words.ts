import { ACTION_CATEGORIES, ACTION_NAMES, type ActionCategory, type ActionName } from "../../../ledger/people/action-names.ts";

/** An action in words that follow its actor. Actions of newer versions are shown by name. */
const WORDS: Readonly<Record<ActionName, string>> = {
  "account.billing_changed": "Changed billing details",
  "account.budget_deleted": "Deleted a budget",
  "account.budget_set": "Set a budget",
  "account.closed": "Closed the account",
  "account.limits_changed": "Changed account limits",
  "account.renamed": "Renamed the account",
  "account.resumed": "Reactivated the account",
  "account.second_factor_optional": "Made two-factor authentication optional",
  "account.second_factor_required": "Required two-factor authentication",
  "account.service_limits_changed": "Changed service limits",
  "account.suspended": "Suspended the account",
  "account.tags_deleted": "Deleted all tags and end users",
  "account.tags_off": "Turned off tags and end users",
  "account.tags_on": "Turned on tags and end users",
  "account.webhook_changed": "Changed a webhook",
  "account.webhook_disabled": "Disabled a webhook",
  "account.webhook_enabled": "Enabled a webhook",
  "account.webhook_removed": "Deleted a webhook",
  "account.webhook_repeated": "Sent an event again",
  "account.webhook_rotated": "Replaced a webhook's secret",
  "account.webhook_set": "Added or replaced a webhook",
  "account.webhook_tested": "Sent a test event",
  "code.created": "Created redeem codes",
  "code.revoked": "Revoked a redeem code",
  "credit.adjusted": "Adjusted the balance",
  "credit.alert_changed": "Changed the low-balance alert",
  "credit.auto_top_up_off": "Turned off automatic top-up",
  "credit.auto_top_up_on": "Turned on automatic top-up",
  "credit.card_asked_for": "Started to save a card",
  "credit.card_removed": "Removed the saved card",
  "credit.granted": "Granted credit",
  "credit.payment-begun": "Started a payment",
  "credit.redeemed": "Redeemed a code",
  "credit.refunded": "Refunded a request",
  "incident.opened": "Published an incident",
  "incident.updated": "Updated an incident",
  "batch.canceled": "Canceled a batch",
  "key.access_changed": "Changed from where an API key may be used",
  "key.changed": "Changed an API key",
  "key.created": "Created an API key",
  "key.deleted": "Deleted an API key",
  "key.disabled": "Disabled an API key",
  "key.enabled": "Enabled an API key",
  "key.moved": "Moved an API key to another project",
  "key.rotated": "Rotated an API key",
  "ledger.checked": "Checked the ledger",
  "member.changed": "Changed a member's role",
  "member.invitation_revoked": "Revoked an invitation",
  "member.invited": "Invited a member",
  "member.joined": "Joined the account",
  "member.removed": "Removed a member",
  "person.changed_email": "Changed email address",
  "person.changed_password": "Changed password",
  "person.confirmed_email": "Confirmed email address",
  "person.ended_session": "Signed out a session",
  "person.ended_sessions": "Signed out all other sessions",
  "person.linked": "Linked a sign-in service",
  "person.made_admin": "Granted administrator access",
  "person.passkey_added": "Added a passkey",
  "person.passkey_removed": "Removed a passkey",
  "person.recovery_codes_made": "Generated recovery codes",
  "person.renamed": "Changed their name",
  "person.reset_password": "Reset password",
  "person.second_factor_off": "Removed the authenticator app",
  "person.second_factor_on": "Set up an authenticator app",
  "person.signed_in": "Signed in",
  "person.signed_up": "Signed up",
  "person.unmade_admin": "Revoked administrator access",
  "project.created": "Created a project",
  "project.deleted": "Deleted a project",
  "project.renamed": "Renamed a project",
  "provider_key.deleted": "Deleted a provider key",
  "provider_key.entered": "Entered a provider key",
  "provider_key.replaced": "Replaced a provider key",
  "token.created": "Created a management token",
  "token.revoked": "Revoked a management token",
};

const CATEGORY_WORDS: Readonly<Record<ActionCategory, string>> = {
  account: "Account",
  batch: "Batches",
  key: "API keys",
  credit: "Credit",
  incident: "Incidents",
  ledger: "Integrity",
  token: "Management tokens",
  member: "Members",
  person: "People and sign-in",
  project: "Projects",
  provider_key: "Provider keys",
  code: "Redeem codes",
};

const BY_NAME = new Map<string, string>(Object.entries(WORDS));

export function actionWords(name: string): string {
  return BY_NAME.get(name) ?? name;
}

/** In the order of their words. */
export const ACTIONS_BY_CATEGORY = ACTION_CATEGORIES.map((category) => ({
  category,
  words: CATEGORY_WORDS[category],
  names: ACTION_NAMES.filter((name) => name.startsWith(`${category}.`)).toSorted((a, b) => compare(WORDS[a], WORDS[b])),
})).toSorted((a, b) => compare(a.words, b.words));

function compare(a: string, b: string): number {
  return a < b ? -1 : 1;
}
