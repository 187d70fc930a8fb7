/**
 * The maximum number of each thing for an account, or one of its people (docs/account-bounds.md has the same table). Bounds limit
 * what one customer can cost the others; normal use should not reach them.
 */
export const ACCOUNT_BOUNDS = {
  /** Keys that are not deleted, and those deleted within a day, without those of ApiKey resources. */
  keys: 500,
  /** All of them. Resources are created by people who may write to the cluster, so there may be more. */
  keysWithResources: 10_500,
  /** Names in one key's list of models. */
  modelsOfKey: 200,
  /** Addresses and ranges to which one key is bound. */
  addressesOfKey: 50,
  /** Origins of web pages to which one key is bound. */
  originsOfKey: 50,
  /** Management tokens that are not revoked, and those revoked within a day. */
  managementTokens: 50,
  members: 200,
  /** Projects that are not deleted. */
  projects: 100,
  /** Projects created, renamed and deleted in 24 hours. Deleting one always works. */
  projectChangesADay: 500,
  /** One each for the account, a project, a key and a member. */
  budgets: 100,
  /** Budgets set in 24 hours: each may notify every owner again. */
  budgetChangesADay: 500,
  /** Limits of the account set by its owners in 24 hours: every extproc reads the account again. */
  limitChangesADay: 500,
  /** Names, billing details, roles and other settings changed in 24 hours: each leaves an entry in the audit log, which is kept. */
  settingChangesADay: 1_000,
  webhooks: 5,
  /** For one webhook; further ones are left out, and its page says so. */
  waitingEvents: 1_000,
  /** Webhooks added and changed, and events sent on request, in 24 hours. Disabling and deleting one always works. */
  webhookChangesADay: 100,
  /** Where requests are sent to as traces. */
  traceDestinations: 3,
  headersOfTraceDestination: 10,
  /** Requests that wait to be sent as traces; earlier ones are left out, and the destination's page says how many. */
  waitingTraces: 1_000_000,
  /** Destinations added and changed, and test traces, in 24 hours. Disabling and deleting one always works. */
  traceChangesADay: 100,
  /** Keys of its own for providers. */
  providerKeys: 50,
  /** Provider keys entered, replaced and deleted in 24 hours. Deleting one always works. */
  providerKeyChangesADay: 200,
  /** Invitations that nobody has accepted yet. */
  openInvitations: 100,
  invitationsADay: 50,
  /** Users that an identity provider has created or changed by SCIM, with those who are no longer active. */
  provisionedUsers: 500,
  /** Changes of keys in 24 hours, by pages and API together. Deleting and disabling a key always works. */
  keyChangesADay: 5_000,
  /** Top-ups started within 24 hours that are not paid. */
  unpaidTopUpsADay: 50,
  /** Accounts that one person belongs to. */
  accountsOfPerson: 100,
  /** Signed-in browsers of one person: one more ends the session unused for longest. */
  sessionsOfPerson: 50,
  passkeysOfPerson: 20,
  /** A person's changes of their name, second factors and recovery codes in 24 hours: each leaves an entry in their log, which is kept. */
  personChangesADay: 200,
  /** Requests to the management API, of all tokens and people of an account together, in each process of the dashboard. */
  apiRequestsAMinute: 600,
  /** Pages, files and API requests of an account that one process of the dashboard processes at once. */
  requestsInWork: 4,
  /** Further ones wait for their turn. */
  requestsWaiting: 16,
  /** Files that an account downloads concurrently from one process of the dashboard. */
  downloads: 2,
  /** Responses that Models with `responses.storeHours` keep; further ones are answered and not stored. */
  storedResponsesAnHour: 5_000,
  storedMebibytesAnHour: 256,
  /** Of those, stored at any time; further ones replace those that would expire first. */
  storedResponses: 100_000,
  storedMebibytes: 1_024,
  /** Uploaded files that were not deleted. */
  batchFiles: 1_000,
  /** Batches that were not deleted: in place of the oldest finished one, another may be created. */
  batches: 10_000,
  /** Those that are not finished. */
  openBatches: 100,
  /** Files, requests and results of batches. */
  batchMebibytes: 1_024,
  /** Prompts and answers that are recorded for keys with a prompt log; further ones replace the oldest. */
  promptLogRecords: 50_000,
  promptLogMebibytes: 512,
  /** Files and lists of requests that an account uploads at once to one process of the dashboard. */
  batchUploads: 2,
} as const;
