import { createFleetingMap } from "../../runtime/fleeting-map.ts";
import type { Attempts } from "./attempts.ts";

/** Requests with attempts in progress, by id: an attempt arrives on a separate stream. */
export interface OpenAttempts {
  add(requestId: string, attempts: Attempts): void;
  find(requestId: string): Attempts | undefined;
  remove(requestId: string): void;
}

export function createOpenAttempts(): OpenAttempts {
  const open = createFleetingMap<string, Attempts>();
  return {
    add: (requestId, attempts) => open.set(requestId, attempts),
    find: (requestId) => open.get(requestId),
    remove: (requestId) => open.delete(requestId),
  };
}
