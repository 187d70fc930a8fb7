/** Measures how long ago something was: nobody sets it back. In ms, from no particular moment. */
export const MONOTONIC = { nowMs: () => performance.now() };
