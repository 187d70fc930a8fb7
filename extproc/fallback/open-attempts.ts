import type { Attempts } from "./attempts.ts";

/** Requests that are on their way through several backends, by id: an attempt comes on a stream of its own. */
export interface OpenAttempts {
  add(requestId: string, attempts: Attempts): void;
  find(requestId: string): Attempts | undefined;
  remove(requestId: string): void;
}

export function createOpenAttempts(): OpenAttempts {
  const open = new Map<string, Attempts>();
  return {
    add: (requestId, attempts) => void open.set(requestId, attempts),
    find: (requestId) => open.get(requestId),
    remove: (requestId) => void open.delete(requestId),
  };
}
