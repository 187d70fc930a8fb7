import { createFleetingMap } from "../../runtime/fleeting-map.ts";
import type { Attempts } from "./attempts.ts";

/** Requests that are on their way through several backends, by id: an attempt comes on a stream of its own. */
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
