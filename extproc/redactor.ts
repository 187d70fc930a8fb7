import type { KeyObject } from "node:crypto";
import { GatewayError } from "../contract/errors.ts";
import { fingerprintOf, flatten } from "../runtime/credential-fingerprint.ts";
import type { StreamTranslation } from "./translate/translation.ts";

/** Removes providers' credentials from model servers' error texts. */
export interface Redactor {
  text(text: string): string;
  error(error: GatewayError): GatewayError;
  /**
   * A stream whose error events, and everything after them, are redacted. Everything before them passes uninspected.
   * @param errorEvent in the client's protocol, for text that cannot be compared. The machine has written its own by then.
   */
  stream(machine: StreamTranslation, errorEvent: (error: GatewayError) => string): StreamTranslation;
}

export interface RedactorDeps {
  /** Of active credentials, by length of the hashed text. */
  fingerprints(): ReadonlyMap<number, ReadonlySet<string>>;
  pepper: Uint8Array | KeyObject;
}

const NOTHING = Buffer.alloc(0);
const REDACTED = "[redacted]";
/** An error text longer than this is not quoted. */
const MAX_ERROR_BYTES = 32 * 1024;
/**
 * Substrings of one text that are hashed, about 5 µs each: text after the last of them has not been compared and is not shown.
 */
const MAX_HASHES = 10_000;
const NOT_COMPARED = " [cut]";

interface Comparison {
  text: string;
  /** False if the end of the text was omitted. */
  isWhole: boolean;
}

export function createRedactor({ fingerprints, pepper }: RedactorDeps): Redactor {
  const redactText = (text: string): string => compare(text).text;

  function compare(text: string): Comparison {
    const known = fingerprints();
    if (known.size === 0) return { text, isWhole: true };
    const { letters, starts, ends, boundaries } = flatten(text);
    let redacted = "";
    let at = 0;
    let hashes = 0;
    for (const from of [...boundaries].sort((a, b) => a - b)) {
      for (const [length, secrets] of known) {
        const to = from + length;
        if (!boundaries.has(to)) continue;
        if (hashes === MAX_HASHES) return { text: redacted + text.slice(at, starts[from]) + NOT_COMPARED, isWhole: false };
        hashes += 1;
        if (!secrets.has(fingerprintOf(letters.slice(from, to), pepper))) continue;
        const start = starts[from] ?? 0;
        const end = ends[to - 1] ?? text.length;
        if (start >= at) redacted += text.slice(at, start) + REDACTED;
        at = Math.max(at, end);
      }
    }
    return { text: at === 0 ? text : redacted + text.slice(at), isWhole: true };
  }

  function redactError(error: GatewayError): GatewayError {
    const message = redactText(error.message);
    const field = error.field === null ? null : redactText(error.field);
    const headers = Object.fromEntries(Object.entries(error.headers).filter(([, value]) => redactText(value) === value));
    const cause = error.cause instanceof Error ? redactCause(error.cause) : error.cause;
    return new GatewayError(error.code, message, {
      status: error.status,
      headers,
      cause,
      kind: isClean(error.kind) ? error.kind : null,
      details: isClean(error.details) ? error.details : null,
      ...(field === null || field !== error.field ? {} : { field }),
    });
  }

  function isClean(value: object | null): boolean {
    const text = JSON.stringify(value);
    return redactText(text) === text;
  }

  /** The text for the log. */
  function redactCause(cause: Error): Error {
    const message = redactText(cause.message);
    return message === cause.message ? cause : new Error(message);
  }

  /** @returns null if there are too many bytes to compare. */
  function redactBytes(bytes: Buffer): Buffer | null {
    if (bytes.length > MAX_ERROR_BYTES) return null;
    const text = bytes.toString("utf8");
    const { text: redacted, isWhole } = compare(text);
    if (!isWhole) return null;
    return redacted === text ? bytes : Buffer.from(redacted);
  }

  return {
    text: redactText,
    error: redactError,
    stream(machine, errorEvent) {
      const hasFailed = () => machine.outcome() === "failed";
      /** The client received one of our errors instead of the server's. */
      let isReplaced = false;

      function redactFailure(bytes: Buffer): Buffer {
        if (isReplaced) return NOTHING;
        const redacted = redactBytes(bytes);
        if (redacted !== null) return redacted;
        isReplaced = true;
        return Buffer.from(errorEvent(new GatewayError("upstream_error", "The model server failed. Try again.")));
      }

      return {
        ...machine,
        push(chunk) {
          const output = machine.push(chunk);
          return hasFailed() ? redactFailure(output === "unchanged" ? chunk : output) : output;
        },
        end() {
          const output = machine.end();
          return hasFailed() ? redactFailure(output) : output;
        },
      };
    },
  };
}
