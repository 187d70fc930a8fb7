import { expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import {
  createEventStreamReader,
  IDLE_MESSAGE,
  type EventStreamReader,
} from "../../../../../extproc/translate/platform/event-stream.ts";
import { encodeMessage, encodePrelude, frame } from "../../../../support/wire/event-stream.ts";

/** Frames of AWS's event streams (S51). */

/** Recorded from AWS's own codec for JavaScript (@smithy/eventstream-codec). */
const CHUNK = Buffer.from(
  "AAAAhQAAAEv9KniTCzpldmVudC10eXBlBwAFY2h1bmsNOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcABWV2ZW50eyJieXRlcyI6ImV5SjBlWEJsSWpvaWNHbHVaeUo5IiwicCI6ImFiYyJ9cwM2oQ==",
  "base64",
);
/** The same, with a header of each type of value. */
const EXCEPTION = Buffer.from(
  "AAAA1wAAAJynTqNPDzpleGNlcHRpb24tdHlwZQcAE3Rocm90dGxpbmdFeGNlcHRpb24NOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcACWV4Y2VwdGlvbgFuBAAAAAUBdAgAAAAAAAAAAAFiAAF5AgEBcwMAAQF1CQGQAAAAAHAAgAAAAAAAAAEDYmluBgADeHl6eyJtZXNzYWdlIjoiVG9vIG1hbnkgdG9rZW5zLCBwbGVhc2Ugd2FpdC4ifZMlW8Q=",
  "base64",
);
const IDLE = Buffer.from("AAAAEAAAAAAFwkjrfZjI/w==", "base64");

interface Read {
  headers: Record<string, string>;
  payload: string;
}

const READ: readonly Read[] = [
  {
    headers: { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
    payload: '{"bytes":"eyJ0eXBlIjoicGluZyJ9","p":"abc"}',
  },
  {
    headers: { ":exception-type": "throttlingException", ":content-type": "application/json", ":message-type": "exception" },
    payload: '{"message":"Too many tokens, please wait."}',
  },
  { headers: {}, payload: "" },
];

function readInto(read: Read[], reader: EventStreamReader, chunk: Buffer): void {
  reader.push(chunk, ({ headers, payload }) =>
    read.push({ headers: Object.fromEntries(headers), payload: payload.toString("utf8") }),
  );
}

function readAll(chunks: readonly Buffer[]): Read[] {
  const read: Read[] = [];
  const reader = createEventStreamReader();
  for (const chunk of chunks) readInto(read, reader, chunk);
  return read;
}

const ALL = Buffer.concat([CHUNK, EXCEPTION, IDLE]);

test("messages of AWS's own codec are read, and our idle message is one of them", () => {
  expect(readAll([ALL])).toEqual(READ);
  for (const { headers, payload } of READ) expect(readAll([encodeMessage(headers, payload)])).toEqual([{ headers, payload }]);
  expect(IDLE_MESSAGE).toEqual(encodeMessage({}, ""));
  expect(IDLE_MESSAGE).toEqual(IDLE);
});

test("messages split at every byte are read as the whole", () => {
  for (let at = 0; at <= ALL.length; at += 1) expect(readAll([ALL.subarray(0, at), ALL.subarray(at)])).toEqual(READ);
  expect(readAll([...ALL].map((byte) => Buffer.from([byte])))).toEqual(READ);
});

test("a message that is not complete is held, and its bytes are counted", () => {
  const reader = createEventStreamReader();
  readInto([], reader, ALL.subarray(0, CHUNK.length + 50));
  expect(reader.heldBytes()).toBe(50);
  readInto([], reader, ALL.subarray(CHUNK.length + 50));
  expect(reader.heldBytes()).toBe(0);
});

test("a change of any byte is noticed, after the messages before it", () => {
  for (let at = 0; at < EXCEPTION.length; at += 1) {
    const changed = Buffer.from(EXCEPTION);
    changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at);
    const read: Read[] = [];
    expect(() => readInto(read, createEventStreamReader(), Buffer.concat([CHUNK, changed]))).toThrow(GatewayError);
    expect(read).toEqual(READ.slice(0, 1));
  }
});

test.for([
  ["of more than 32 MiB", encodePrelude({ length: 32 * 1024 * 1024 + 1 }), "more than 32 MiB"],
  ["with more than 128 KiB of headers", encodePrelude({ length: 1024 * 1024, headersLength: 128 * 1024 + 1 }), "damaged"],
  ["whose headers are longer than itself", encodePrelude({ length: 100, headersLength: 85 }), "damaged"],
  ["shorter than its own frame", encodePrelude({ length: 15 }), "damaged"],
] as const)("a message %s is refused before it is held", ([, bytes, message]) => {
  expect(() => readAll([bytes])).toThrow(message);
});

test.for([
  ["a name without an end", [5, 97]],
  ["an unknown type", [1, 97, 10]],
  ["a text without its length", [1, 97, 7, 0]],
  ["a text that is too long", [1, 97, 7, 0, 5, 97]],
  ["a number that is too short", [1, 97, 4, 0, 0]],
] as const)("headers with %s are refused", ([, bytes]) => {
  expect(() => readAll([frame(Buffer.from(bytes), Buffer.from("{}"))])).toThrow("damaged");
});
