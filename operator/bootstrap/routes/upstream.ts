import { HEADERS } from "../../../contract/headers.ts";

/** Headers that do not concern a provider: the clients' credentials (the injector sets ours) and their addresses. */
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

/** A model server must not be able to pass its answer off as Envoy's. */
export const UNBELIEVED_HEADERS = [HEADERS.localReply];

/** Only a request that it has never seen is sent again to the same server, because it bills the others. */
export const SENT_AGAIN = { retry_on: "connect-failure,refused-stream,reset-before-request", num_retries: 2 } as const;
