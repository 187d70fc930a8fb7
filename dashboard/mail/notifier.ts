import { listMembers } from "../../ledger/people/members.ts";
import type { AppDeps } from "../app-deps.ts";
import type { Letter } from "./letter.ts";

/** Notifies people of actions. Not awaited: the action is complete, whether or not the mail server accepts the email. */
export type Notify = (letter: Letter) => void;

export function createNotifier({ mailer, log }: Pick<AppDeps, "mailer" | "log">): Notify {
  return (letter) => {
    if (mailer === undefined) return;
    void mailer.send(letter).catch((error: unknown) => log.warn({ err: error }, "failed to send a security email"));
  };
}

/** All owners of an account are notified of what concerns it. Beyond this number they are not: they should share a mailbox. */
const MAX_OWNERS = 20;

export function createOwnerNotifier(deps: Pick<AppDeps, "mailer" | "log" | "database">) {
  const notify = createNotifier(deps);
  return async (accountId: string, letterFor: (owner: { email: string; name: string }) => Letter): Promise<void> => {
    if (deps.mailer === undefined) return;
    const owners = (await listMembers(deps.database, accountId)).filter(({ role }) => role === "owner");
    for (const owner of owners.slice(0, MAX_OWNERS)) notify(letterFor(owner));
  };
}
