import { listMembers } from "../../ledger/people/members.ts";
import type { AppDeps } from "../app-deps.ts";
import type { Letter } from "./letter.ts";

/**
 * Writes to people about what was done. Not waited for: what was done is done, whether or not the mail server takes the
 * letter.
 */
export type Notify = (letter: Letter) => void;

export function createNotifier({ mailer, log }: Pick<AppDeps, "mailer" | "log">): Notify {
  return (letter) => {
    if (mailer === undefined) return;
    void mailer.send(letter).catch((error: unknown) => log.warn({ err: error }, "failed to send a security mail"));
  };
}

/** All owners of an account hear what concerns it. More are not written to: they share a mailbox, or should. */
const MAX_OWNERS = 20;

export function createOwnerNotifier(deps: Pick<AppDeps, "mailer" | "log" | "database">) {
  const notify = createNotifier(deps);
  return async (accountId: string, letterFor: (owner: { email: string; name: string }) => Letter): Promise<void> => {
    if (deps.mailer === undefined) return;
    const owners = (await listMembers(deps.database, accountId)).filter(({ role }) => role === "owner");
    for (const owner of owners.slice(0, MAX_OWNERS)) notify(letterFor(owner));
  };
}
