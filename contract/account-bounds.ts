/**
 * How many of each thing an account, or one of its people, may have (docs/account-bounds.md has the same table). A bound
 * is about what one customer can cost the others; none is meant to be met in honest use.
 */
export const ACCOUNT_BOUNDS = {
  /** Keys that are not deleted, and those that were deleted within a day, without those of ApiKey resources. */
  keys: 500,
  /** All of them. Resources are made by those who may write to the cluster, so there may be more. */
  keysWithResources: 10_500,
  /** Names in one key's list of models. */
  modelsOfKey: 200,
  /** Management tokens that are not revoked, and those that were revoked within a day. */
  managementTokens: 50,
  members: 200,
  /** One for the account, for a key and for a member each. */
  budgets: 100,
  /** Budgets set in 24 hours: each may write to every owner again. */
  budgetChangesADay: 500,
  /** Webhooks set and test events sent in 24 hours. Removing one always works. */
  webhookChangesADay: 100,
  /** Invitations that nobody has accepted yet. */
  openInvitations: 100,
  invitationsADay: 50,
  /** Changes of keys in 24 hours, by pages and API together. Deleting and disabling a key always works. */
  keyChangesADay: 5_000,
  /** Top-ups begun within 24 hours that are not paid. */
  unpaidTopUpsADay: 50,
  /** Accounts that one person is in. */
  accountsOfPerson: 100,
  /** Signed-in browsers of one person: one more ends the session that was unused for longest. */
  sessionsOfPerson: 50,
  passkeysOfPerson: 20,
  /** Requests to the management API, of all tokens and people of an account together, in each process of the dashboard. */
  apiRequestsAMinute: 600,
  /** Pages, files and API requests of an account that one process of the dashboard works on at once. */
  requestsInWork: 4,
  /** More of them wait for their turn. */
  requestsWaiting: 16,
  /** Files that an account downloads at once from one process of the dashboard. */
  downloads: 2,
  /** Responses that Models with `responses.storeHours` keep; further ones are answered and not stored. */
  storedResponsesAnHour: 5_000,
  storedMebibytesAnHour: 256,
  /** Of those, kept at any time; further ones replace the ones that would expire first. */
  storedResponses: 100_000,
  storedMebibytes: 1_024,
} as const;
