import { HELD_BODY } from "../../contract/held-body.ts";

/**
 * What Envoy may buffer at each hop, in bytes. Connections and streams get little: further data waits at its sender, a client
 * that uploads or a model server that answers. Only a body that must be complete for the processor gets more, from its route
 * (docs/decisions/0031).
 */

/**
 * Of one connection, each way. Envoy reads so much of it before the next one has its turn, in steps of 128 KiB: a client or model
 * server that sends its bytes in the smallest pieces makes 10,000 of them (docs/decisions/0031).
 */
export const CONNECTION_BUFFER_BYTES = 128 * 1024;

/**
 * Of a client's request headers, in KiB. Several times what any tool sends, and little enough for thousands of streams: Envoy
 * decodes all headers as they come, and over HTTP/2 a few bytes may refer to long ones sent before (docs/decisions/0031).
 */
export const MAX_CLIENT_HEADERS_KIB = 32;

/** Of one HTTP/2 stream of a client. Uploads are as fast as this and the round trip let them be. */
export const CLIENT_STREAM_BYTES = 256 * 1024;

/** Of one connection inside this Envoy, each way. A stream passes through one or two. */
export const INTERNAL_BUFFER_BYTES = 64 * 1024;

/**
 * What the filters of one request may buffer: its body until extproc has received it completely, and then its answer until
 * extproc has seen the headers. Envoy has one limit for both, so each class is hardly larger than the bodies in it.
 */
export const HELD_BODY_CLASSES = [64, 256, 512, 1024, 2048, 4096, 8192, 16_384].map((kibibytes) => ({
  bodyBytes: kibibytes * 1024,
  heldBytes: Math.max(HELD_BODY.minBytes, kibibytes * 1024 + HELD_BODY.slackBytes),
}));

/** The longest prompt of a stream that is sent again to a server that has seen none of it. Its copy takes up twice as much. */
export const SENT_AGAIN_BYTES = HELD_BODY.minBytes;

/** Of all streams of a client's HTTP/2 connection that have not been read yet. */
export const CLIENT_WINDOW_BYTES = 16 * CLIENT_STREAM_BYTES;

/** Of one HTTP/2 stream from a model server, which is farther away than a client's proxy: its answer may be 10 MB of pictures. */
export const UPSTREAM_WINDOW_BYTES = 512 * 1024;

/** Streams per HTTP/2 connection to a model server. Its window has room for all of them, so unread answers delay no other. */
export const UPSTREAM_STREAMS = 100;

/** Of one ext_proc stream. Large messages cross it in parts. */
export const EXTPROC_WINDOW_BYTES = 256 * 1024;
