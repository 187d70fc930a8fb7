import type { Role } from "../../ledger/people/members.ts";

/** Roles as labels; within a sentence they are lower-case. */
export const ROLE_NAMES: Readonly<Record<Role, string>> = { viewer: "Viewer", member: "Member", owner: "Owner" };

/** "an owner". */
export function aRole(role: Role): string {
  return `${role === "owner" ? "an" : "a"} ${role}`;
}
