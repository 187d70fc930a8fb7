import type { AnswerDeps, Answers } from "../answers/answer.ts";
import type { Tickets } from "../../ledger/batches/ticket.ts";
import type { Pepper } from "../../ledger/keys/keys.ts";
import type { AddressCheck } from "../auth/address-check.ts";
import type { CatchUp } from "../auth/catch-up.ts";
import type { BrokenAnswers } from "../broken-answers.ts";
import type { EarlyAnswers } from "../early-answers/early-answers.ts";
import type { HeldAnswers } from "../held-answers.ts";
import type { Events } from "../events.ts";
import type { Guardrails } from "../guardrails/guardrails.ts";
import type { OpenAttempts } from "../fallback/open-attempts.ts";
import type { AccountLoads } from "../load/account-load.ts";
import type { Admission } from "../load/admission.ts";
import type { ByteAdmission } from "../load/byte-admission.ts";
import type { FreeRequests } from "../load/free-requests.ts";
import type { LabelBudget } from "../labels/label-budget.ts";
import type { Limits } from "../limits/limits.ts";
import type { Refusals } from "../load/refusals.ts";
import type { Starts } from "../load/starts.ts";
import type { RunDeps } from "../meter/run.ts";
import type { PromptLog } from "../prompt-log/start.ts";
import type { Redactor } from "../redactor.ts";
import type { BackendHealth } from "../route/backend-health.ts";

/** Dependencies of one request; tests replace single members. */
export interface ExchangeDeps extends RunDeps, AnswerDeps {
  loads: Pick<AccountLoads, "of">;
  /** For keys that are about to be refused. */
  catchUp: CatchUp;
  /** For keys that are bound to addresses. */
  addresses: AddressCheck;
  admission: Admission;
  starts: Pick<Starts, "start">;
  byteAdmission: ByteAdmission;
  freeRequests: FreeRequests;
  refusals: Refusals;
  limits: Limits;
  labelBudget: Pick<LabelBudget, "take" | "release">;
  /** For keys that have one. */
  promptLog: PromptLog;
  events: Events;
  answers: Answers;
  /** For Models with several backends. */
  health: BackendHealth;
  openAttempts: OpenAttempts;
  brokenAnswers: BrokenAnswers;
  heldAnswers: HeldAnswers;
  /** Null if no stream is answered early. */
  earlyAnswers: EarlyAnswers | null;
  /** For Models whose requests are checked. */
  guardrails: Guardrails;
  /** Number of this process among those of one Envoy, from 0. */
  worker: number;
  /** HMAC key of the stored key hashes. */
  pepper: Pepper;
  /** Credentials of requests of batches. */
  tickets: Pick<Tickets, "read">;
  /** Of model servers' messages to an account; undefined: it is not known. */
  redactorFor(accountId: string | undefined): Redactor;
  /** The page for creating keys. */
  keysUrl: string;
  /** UUIDv7 of that moment. */
  newRequestId(nowMs: number): string;
  /** In [0, 1). */
  random(): number;
}
