import { createFleetingMap } from "../../runtime/fleeting-map.ts";

/**
 * How many calls of one hook this process has open. An account may have as many as are free for others, so a slot is left for
 * whoever comes next, however slow the hook is. Accounts that wait take turns.
 */
export interface CallSlots {
  /** @param hook its cluster. @param start called once, maybe at once. @returns what leaves the slot or the queue; idempotent. */
  enter(hook: string, accountId: string, start: () => void): () => void;
}

/** Of one hook. */
interface Hook {
  open: number;
  accounts: Map<string, Account>;
}

interface Account {
  open: number;
  /** In order of arrival. */
  waiting: Set<() => void>;
}

export function createCallSlots({ maxOpen }: { maxOpen: number }): CallSlots {
  const hooks = createFleetingMap<string, Hook>();

  const mayStart = (hook: Hook, account: Account) => account.open < maxOpen - hook.open;

  function leave(name: string, hook: Hook, accountId: string): void {
    const account = hook.accounts.get(accountId);
    if (account !== undefined && account.open === 0 && account.waiting.size === 0) hook.accounts.delete(accountId);
    for (let next = nextOf(hook); next !== undefined; next = nextOf(hook)) next();
    if (hook.accounts.size === 0 && hooks.get(name) === hook) hooks.delete(name);
  }

  /** The account that has its turn goes to the end. */
  function nextOf(hook: Hook): (() => void) | undefined {
    for (const [accountId, account] of hook.accounts) {
      const [first] = account.waiting;
      if (first === undefined || !mayStart(hook, account)) continue;
      hook.accounts.delete(accountId);
      hook.accounts.set(accountId, account);
      return first;
    }
    return undefined;
  }

  return {
    enter(name, accountId, start) {
      const hook = hooks.get(name) ?? { open: 0, accounts: new Map<string, Account>() };
      hooks.set(name, hook);
      const account = hook.accounts.get(accountId) ?? { open: 0, waiting: new Set() };
      hook.accounts.set(accountId, account);
      let state: "waiting" | "open" | "left" = "waiting";
      const begin = () => {
        account.waiting.delete(begin);
        state = "open";
        hook.open += 1;
        account.open += 1;
        start();
      };
      if (account.waiting.size === 0 && mayStart(hook, account)) begin();
      else account.waiting.add(begin);
      return () => {
        if (state === "left") return;
        account.waiting.delete(begin);
        if (state === "open") {
          hook.open -= 1;
          account.open -= 1;
        }
        state = "left";
        leave(name, hook, accountId);
      };
    },
  };
}
