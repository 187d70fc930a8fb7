/** Events that an endpoint can choose. Stored rows and customers' programs keep these names permanently. */
export const EVENT_TYPES = [
  "budget.threshold_reached",
  "credit.top_up_succeeded",
  "credit.top_up_failed",
  "credit.payment_refunded",
  "credit.balance_low",
  "credit.balance_exhausted",
  "key.created",
  "key.rotated",
  "key.disabled",
  "key.enabled",
  "key.deleted",
  "key.expires_soon",
  "member.joined",
  "member.role_changed",
  "member.removed",
  "model.shutdown_announced",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Sent on request, whatever an endpoint has chosen. */
export const TEST_EVENT = "webhook.test";
