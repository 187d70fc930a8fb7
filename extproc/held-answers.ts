import { createFleetingMap } from "../runtime/fleeting-map.ts";

/**
 * Answers that Envoy holds until it has all of them. How much has come of one that does not state its length, ext_proc does not
 * see; Envoy's access log reports it (operator/bootstrap/filters/held-answer-log.ts).
 */
export interface HeldAnswers {
  /** @param grown called with each report. */
  watch(requestId: string, grown: (bytes: number) => void): void;
  forget(requestId: string): void;
  /** Envoy's report. @returns false if the request is not, or no longer, this process's. */
  report(held: HeldAnswer): boolean;
}

export interface HeldAnswer {
  requestId: string;
  /** That have come from the model server, with headers and framing. */
  bytes: number;
}

export function createHeldAnswers(): HeldAnswers {
  const watched = createFleetingMap<string, (bytes: number) => void>();
  return {
    watch: watched.set,
    forget: watched.delete,
    report({ requestId, bytes }) {
      const grown = watched.get(requestId);
      grown?.(bytes);
      return grown !== undefined;
    },
  };
}
