import type { OrOther } from "../postgres/known-or-other.ts";
import { isMore, type Role } from "./members.ts";

/**
 * Who may do what in an account, in one table. Routes of the pages and of the API ask for a permission, never for a role, and so does
 * the change once the account is locked (actor.ts); docs/permissions.md is the same table for readers.
 */
export const PERMISSIONS = {
  see: { least: "viewer", words: "See keys, usage, credit, members and tokens" },
  manageKeys: { least: "member", words: "Create, change, rotate, disable and delete API keys, and choose their projects" },
  usePlayground: { least: "member", words: "Use the playground, which spends the account's credit" },
  manageBatches: { least: "member", words: "Cancel batches, and download their results" },
  addCredit: { least: "member", words: "Pay for credit, and redeem codes" },
  setAlert: { least: "member", words: "Choose the balance below which the owners get an email" },
  setLimits: { least: "owner", words: "Set the account's limits and budgets" },
  manageWebhooks: { least: "owner", words: "See, add, change and delete webhooks, and resend their events" },
  manageTraces: { least: "owner", words: "See, add, change and delete trace destinations, and send test traces" },
  manageProjects: { least: "owner", words: "Create, rename and delete projects" },
  manageProviderKeys: { least: "owner", words: "Add, replace and delete provider keys" },
  managePromptLog: { least: "owner", words: "Record the prompts and answers of keys, read them, and delete them" },
  setLabels: { least: "owner", words: "Keep tags and end users with requests, and delete them" },
  manageCard: { least: "owner", words: "Save and remove the card, and set automatic top-up" },
  setBilling: { least: "owner", words: "Set the billing details on receipts and statements" },
  manageMembers: { least: "owner", words: "Invite and remove people, change their roles, and require a second factor" },
  renameAccount: { least: "owner", words: "Rename the account" },
  closeAccount: { least: "owner", words: "Close the account" },
  manageTokens: { least: "owner", words: "Create and revoke management tokens" },
} as const satisfies Record<string, { least: Role; words: string }>;

export type Permission = keyof typeof PERMISSIONS;

/** A role of a newer version may be meant to allow less than any of these. */
export function isAllowed(role: OrOther<Role>, permission: Permission): boolean {
  return !isMore(PERMISSIONS[permission].least, role);
}
