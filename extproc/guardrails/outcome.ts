/** Why there is no usable answer of a hook. None of it quotes the hook. */
export type HookFailure = "unreachable" | "broken" | "status" | "too_large";

/** `busy`: no slot became free in time. */
export type CheckFailure = HookFailure | "timeout" | "busy" | "unreadable";

/** `failed_…`: there is no verdict, and the Model says what happens then. */
export type GuardrailResult = "allowed" | "refused" | "failed_allowed" | "failed_refused";

/** What was checked. */
export type CheckedPart = "request" | "answer";
