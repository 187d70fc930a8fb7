/**
 * Envoy metadata that extproc sets on an answer which Envoy holds whole and which does not say how long it will be. While it has it,
 * Envoy reports to extproc how much has come (operator/bootstrap/filters/held-answer-log.ts).
 */
export const HELD_ANSWER_METADATA = { namespace: "gateway.held", key: "answer" } as const;
