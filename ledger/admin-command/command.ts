import { Command } from "commander";
import type { Database } from "../postgres/database.ts";
import { setAdmin } from "../people/admins.ts";

export interface AdminCommandDeps {
  /** Called once the words are valid: help needs no database. */
  connect(): Database;
  print: (line: string) => void;
}

/**
 * Grants somebody the right to see and change all accounts in the dashboard, or revokes it.
 * @param words such as `grant ada@example.com`.
 * @throws GatewayError as `setAdmin` does.
 */
export async function runAdminCommand(words: readonly string[], { connect, print }: AdminCommandDeps): Promise<void> {
  const command = new Command("ledger/admin-command").description("Grants and revokes administrator rights in the dashboard.");
  const add = (name: "grant" | "revoke", description: string, isAdmin: boolean) =>
    command
      .command(name)
      .description(description)
      .argument("<email>", "address of a person who has signed up")
      .allowExcessArguments(false)
      .action(async (email: string) => {
        const isChanged = await setAdmin(connect(), { email, isAdmin });
        print(`${email} is ${isAdmin ? granted(isChanged) : revoked(isChanged)} an administrator.`);
      });
  add("grant", "lets someone see and change all accounts", true);
  add("revoke", "revokes that right", false);
  await command.parseAsync([...words], { from: "user" });
}

function granted(isNew: boolean): string {
  return isNew ? "now" : "already";
}

function revoked(isNew: boolean): string {
  return isNew ? "no longer" : "not";
}
