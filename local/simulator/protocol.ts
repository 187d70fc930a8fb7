import type { Answer } from "./answer.ts";
import type { Directive } from "./directive.ts";
import type { Prompt } from "./prompt.ts";
import type { SseEvent } from "./sse.ts";

export interface SimulatedError {
  status: number;
  message: string;
  type: string | undefined;
  code: string | undefined;
  field: string | undefined;
}

/** One side of the simulator: how a protocol is read and written. */
export interface SimulatedProtocol {
  /** @throws PromptError if the real server would answer 400. */
  parse: (body: unknown) => Prompt;
  answer(answer: Answer, directive: Directive, body: unknown): object;
  /** The events of a stream, the last of them the protocol's end. */
  events(answer: Answer, directive: Directive, body: unknown): Iterable<SseEvent>;
  error(error: SimulatedError): object;
  errorEvent(error: SimulatedError): SseEvent;
  /** The `id` header's name, so that its value can be found in both sides' logs. */
  readonly idHeader: string;
}
