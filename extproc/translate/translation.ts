import type { Backend, CatalogueModel } from "../../contract/catalogue.ts";
import type { GatewayError } from "../../contract/errors.ts";
import type { Meter } from "../meter/meter.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";

/** What a translation is made from. Pure input: the time and the id are passed in. */
export interface TranslationInput {
  /** Its members are checked by the translation that reads them. */
  body: RequestBody;
  /** The client's request headers, by lower-case name. */
  headers: ReadonlyMap<string, string>;
  model: CatalogueModel;
  backend: Backend;
  /** Output tokens for each answer: what credit is reserved for, and so the limit sent upstream (S30). */
  outputTokens: number;
  /** UUIDv7 of the request; ids that the gateway must mint are derived from it. */
  requestId: string;
  /** Unix seconds; chat's `created`. */
  nowSeconds: number;
  /** Unix seconds at the time of the call: when an answer is complete. Absent: `nowSeconds`. Must not retain the request. */
  secondsNow?: () => number;
  /** Of a Model that stores responses; absent or null: nothing is stored, and nothing was referenced. */
  storage?: Storage | null;
}

/** What a response says about its storage. The response that it continues is in the request's input by now. */
export interface Storage {
  isStored: boolean;
  previousResponseId: string | null;
}

/** One request in transit through one pair of protocols. Its state dies with the response. */
export interface Translation {
  /** The request to send upstream. `path` is below the backend's base path: `/chat/completions` or `/v1/messages`. */
  readonly upstream: { readonly path: string; readonly body: Buffer; readonly headers: Readonly<Record<string, string>> };
  /** Request fields omitted because they cannot change the answer; named in `x-gateway-dropped`. */
  readonly dropped: readonly string[];
  /** Did the client request a stream? */
  readonly wantsStream: boolean;
  /**
   * What the client asks for, if not every server of its interface has it, as the rest of a sentence ("edit images"). A server that
   * has no such endpoint works.
   */
  readonly optional?: string;
  /** The form of the speech that the client requested; absent for what is no speech. */
  readonly speech?: SpeechForm;
  /** The type of a complete answer, if that is no JSON. @param given by the server. */
  answerType?(given: string): string;
  /**
   * A complete JSON answer (2xx), as bytes for the client.
   * @throws GatewayError `upstream_error` when the body does not match the upstream's protocol.
   */
  response(body: Buffer, meter: Meter): Buffer;
  /** A streamed answer. */
  stream(meter: Meter): StreamTranslation;
}

/** Events hold it in pieces; sound passes as it comes, up to so many bytes. */
export type SpeechForm = { kind: "events" } | { kind: "sound"; maxBytes: number };

/** The part that is still needed once its request has been sent. */
export type AnswerTranslation = Omit<Translation, "upstream">;

/**
 * "complete": the upstream ended as its protocol requires. "truncated": it closed before. "failed": it sent an error event, or
 * the gateway ended the stream.
 */
export type StreamOutcome = "open" | "complete" | "truncated" | "failed";

/** A small machine that turns upstream SSE bytes into client SSE bytes. */
export interface StreamTranslation {
  /** Bytes for the client; "unchanged" passes the chunk without a copy. */
  push(chunk: Buffer): Buffer | "unchanged";
  /** The upstream closed: finishes open parts, with the protocol's error event unless it was complete. */
  end(): Buffer;
  /** The gateway itself must end the stream (credit ran out, a bug): the protocol's error event. */
  fail(error: GatewayError): Buffer;
  /** The account's credit ran out: finishes open parts, with the protocol's finish for a limit of output tokens. */
  stopForCredit(): Buffer;
  /** The upstream has ended its answer: only its usage and the end of the connection may follow. */
  isEnding(): boolean;
  outcome(): StreamOutcome;
  /** Why it failed; null if it has not, or if only an event that the client got from its server says so. */
  failure(): GatewayError | null;
  /** Bytes in memory of an event, or a document, that the upstream has begun and not finished. */
  heldBytes(): number;
}
