/** What Envoy holds of a request for extproc, beside the body itself: an answer that nobody reads takes up as much. */
export const HELD_BODY = {
  /** For short bodies. */
  minBytes: 256 * 1024,
  /** A body may grow by so much at least when extproc replaces it. */
  slackBytes: 64 * 1024,
} as const;
