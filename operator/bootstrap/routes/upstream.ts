import { HEADERS } from "../../../contract/headers.ts";

/** What a provider has no business to see: the clients' credentials (the injector sets ours) and their addresses. */
export const PRIVATE_HEADERS = [
  "authorization",
  "x-api-key",
  "cookie",
  "proxy-authorization",
  "forwarded",
  "via",
  "x-real-ip",
  "x-forwarded-for",
  "x-envoy-external-address",
  "x-forwarded-host",
  "x-forwarded-proto",
];

/** A model server may not pass its answer off as Envoy's. */
export const UNBELIEVED_HEADERS = [HEADERS.localReply];

/** Sent again to the same server is only what it has never seen, for it bills what it has. */
export const SENT_AGAIN = { retry_on: "connect-failure,refused-stream,reset-before-request", num_retries: 2 } as const;
