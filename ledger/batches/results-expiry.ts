/** SQL, of a row of `batch`: when its results are deleted; null until it has ended. Those of most batches go with the batch. */
export const RESULTS_EXPIRE_AT = "least(deleted_at, ended_at + make_interval(secs => results_kept_seconds))";

/** SQL, of a row of `batch`: whether that time has come before the batch's own. */
export const HAVE_RESULTS_EXPIRED = "coalesce(ended_at + make_interval(secs => results_kept_seconds) <= now(), false)";
