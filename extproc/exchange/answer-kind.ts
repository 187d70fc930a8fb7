import { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import { localReplyError } from "../fallback/attempts.ts";
import { isEventStream, isFramed, isUntyped } from "../headers.ts";
import { contentCoding, isDecodable, undecodable } from "../protocol/content-coding.ts";
import type { SpeechForm } from "../translate/translation.ts";
import type { Forwarded } from "./context.ts";

/** A JSON error, a stream of events, sound, or a complete answer. */
export type AnswerKind = "upstream_error" | "stream" | "sound" | "whole";

/**
 * The kind of the model server's answer, by its headers, which the run then records as its backend.
 * @throws GatewayError for an answer that cannot be passed on.
 */
export function judgeAnswer(forwarded: Forwarded, headers: ReadonlyMap<string, string>): AnswerKind {
  const { run, dispatch } = forwarded;
  const status = Number(headers.get(":status"));
  run.moveTo(dispatch.backend());
  const madeByRelay = headers.get(HEADERS.localReply);
  forwarded.localReply = nameOf(madeByRelay);
  const failure = madeByRelay === undefined ? dispatch.failure() : localReplyError(status, madeByRelay);
  if (failure !== null) throw dispatch.described(failure);
  // Envoy passes it on over HTTP/1.1, where answers below 200 have no body: the end of this one would never come.
  if (!(status >= 200)) throw new GatewayError("upstream_error", "The model server's answer has no valid status code.");
  forwarded.upstreamStatus = status;

  if (status === 206) throw new GatewayError("upstream_error", "The model server sent a partial answer.");
  // Clients read no body after it.
  if (status === 205) throw emptyAnswer();
  if (status >= 300) return "upstream_error";
  const coding = contentCoding(headers);
  // Node.js decodes streams asynchronously, but each chunk of a stream is metered and answered before the next one is read.
  if (coding !== null && (isEventStream(headers) || !isDecodable(coding))) throw undecodable(coding);
  const { wantsStream, speech, answerType } = dispatch.translation();
  if (speech !== undefined) {
    if (coding !== null) throw undecodable(coding);
    return judgeSpeech(speech, headers);
  }
  const isReadable = isFramed(headers) === (dispatch.backend().platform === "bedrock");
  // A stream's reader also reads a document. That of a transcription may be plain text.
  const isUntypedStream = isUntyped(headers) && coding === null && answerType === undefined;
  return wantsStream && (isEventStream(headers) || isUntypedStream) && isReadable ? "stream" : "whole";
}

/** Envoy's details may go on with texts of the connection's. */
function nameOf(details: string | undefined): string | null {
  return /^[a-z_]+/.exec(details ?? "")?.[0] ?? null;
}

function judgeSpeech({ kind }: SpeechForm, headers: ReadonlyMap<string, string>): "stream" | "sound" {
  if (kind === "events") {
    if (isEventStream(headers) && !isFramed(headers)) return "stream";
    const message =
      "The model server does not send speech as events. Leave out `stream_format`, and read the audio as it arrives.";
    throw new GatewayError("upstream_error", message);
  }
  if (SOUND.test(headers.get("content-type") ?? "")) return "sound";
  throw new GatewayError("upstream_error", "The model server's answer is not audio.");
}

const SOUND = /^(?:audio\/[\w.+-]+|application\/(?:octet-stream|ogg))[ \t]*(?:;|$)/i;

export function emptyAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is empty.");
}
