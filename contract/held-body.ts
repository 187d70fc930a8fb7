/** Envoy's buffers for a request beyond the body itself: an unread answer takes as much. */
export const HELD_BODY = {
  /** For short bodies. */
  minBytes: 256 * 1024,
  /** Minimum room for a body to grow when extproc replaces it. */
  slackBytes: 64 * 1024,
} as const;
