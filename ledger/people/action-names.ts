/**
 * All actions that the audit log records. The word before the dot is the category, which filters use; rows keep these names
 * permanently.
 */
export const ACTION_NAMES = [
  "account.billing_changed",
  "account.budget_deleted",
  "account.budget_set",
  "account.closed",
  "account.limits_changed",
  "account.renamed",
  "account.resumed",
  "account.second_factor_optional",
  "account.second_factor_required",
  "account.service_limits_changed",
  "account.suspended",
  "account.tags_deleted",
  "account.tags_off",
  "account.tags_on",
  "account.webhook_changed",
  "account.webhook_disabled",
  "account.webhook_enabled",
  "account.webhook_removed",
  "account.webhook_repeated",
  "account.webhook_rotated",
  "account.webhook_set",
  "account.webhook_tested",
  "code.created",
  "code.revoked",
  "credit.adjusted",
  "credit.alert_changed",
  "credit.auto_top_up_off",
  "credit.auto_top_up_on",
  "credit.card_asked_for",
  "batch.canceled",
  "credit.card_removed",
  "credit.granted",
  "credit.payment-begun",
  "credit.redeemed",
  "credit.refunded",
  "incident.opened",
  "incident.updated",
  "key.access_changed",
  "key.changed",
  "key.created",
  "key.deleted",
  "key.disabled",
  "key.enabled",
  "key.moved",
  "key.rotated",
  "ledger.checked",
  "member.changed",
  "member.invitation_revoked",
  "member.invited",
  "member.joined",
  "member.removed",
  "person.changed_email",
  "person.changed_password",
  "person.confirmed_email",
  "person.ended_session",
  "person.ended_sessions",
  "person.linked",
  "person.made_admin",
  "person.passkey_added",
  "person.passkey_removed",
  "person.recovery_codes_made",
  "person.renamed",
  "person.reset_password",
  "person.second_factor_off",
  "person.second_factor_on",
  "person.signed_in",
  "person.signed_up",
  "person.unmade_admin",
  "project.created",
  "project.deleted",
  "project.renamed",
  "token.created",
  "token.revoked",
] as const;

export type ActionName = (typeof ACTION_NAMES)[number];

type CategoryOf<Name> = Name extends `${infer Category}.${string}` ? Category : never;

/** The subject of an action. */
export type ActionCategory = CategoryOf<ActionName>;

export const ACTION_CATEGORIES = [
  "account",
  "batch",
  "code",
  "credit",
  "incident",
  "key",
  "ledger",
  "member",
  "person",
  "project",
  "token",
] as const satisfies readonly ActionCategory[];

/** Filters of a list of actions. */
export const ACTION_FILTERS = [...ACTION_CATEGORIES, ...ACTION_NAMES] as const;
export type ActionFilterName = (typeof ACTION_FILTERS)[number];
