import type { Role } from "../../ledger/people/members.ts";
import type { OrOther } from "../../ledger/postgres/known-or-other.ts";

/** Roles as labels; within a sentence they are lower-case. */
export const ROLE_NAMES = { viewer: "Viewer", member: "Member", owner: "Owner" } as const satisfies Record<Role, string>;

export function roleName(role: OrOther<Role>): string {
  return role === "other" ? "Other" : ROLE_NAMES[role];
}

/** "an owner". */
export function aRole(role: OrOther<Role>): string {
  if (role === "other") return "a member with an unknown role";
  return `${role === "owner" ? "an" : "a"} ${role}`;
}
