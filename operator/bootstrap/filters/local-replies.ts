import { encodeError, GatewayError, toGatewayError } from "../../../contract/errors.ts";
import { HEADERS } from "../../../contract/headers.ts";
import type { Dialect } from "../../../contract/protocol.ts";
import { MAX_CLIENT_HEADERS_KIB } from "../buffers.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { CLIENT_METADATA, CLIENT_PATH, CLIENT_VERSION } from "./client-metadata.ts";
import { CROSS_ORIGIN_FORMATTERS } from "./cross-origin.ts";
import { ANSWER_IS_TOO_LARGE, detailsMatch, statusFrom, statusIs } from "./reply-filters.ts";

/**
 * The bodies of Envoy's own replies, in the caller's format (S17): everything that Envoy refuses or fails before, beside or after
 * the processor. The first matching mapper wins.
 */
export function localReplies(maxRequestBytes: number): EnvoyConfig {
  return {
    mappers: [
      // The processor's immediate answers are local replies too; theirs already have the right format.
      { filter: detailsMatch("response.code_details.startsWith('gateway_')") },
      dashboardIsAway,
      managementApiIsAway,
      ...EARLY_REPLIES.flatMap((reply) => inBothDialects(reply, EARLY)),
      ...lateReplies(maxRequestBytes).flatMap((reply) => inBothDialects(reply, LATE)),
    ],
  };
}

/** In the dashboard's colours, without resources to load. */
const AWAY_PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">' +
  "<title>Not available right now · Model Gateway</title><style>:root{color-scheme:light dark}" +
  "body{margin:15vh auto;max-width:34rem;padding:0 1.25rem;font:15px/1.55 system-ui,sans-serif;background:light-dark(#fafafb,#0f1216);color:light-dark(#15191f,#e6eaf0)}" +
  "a{display:inline-block;padding:.45rem .8rem;border-radius:8px;background:light-dark(#3f51d6,#93a5ff);color:light-dark(#fff,#0d1230);text-decoration:none;font-weight:550}</style>" +
  "<h1>Not available right now</h1><p>The dashboard is restarting or cannot be reached. API keys and models are not affected.</p>" +
  '<p>Wait a few seconds, then try again.</p><p><a href="">Try again</a></p>';

/** People get a page. */
const dashboardIsAway: EnvoyConfig = {
  filter: {
    and_filter: {
      filters: [clientMetadata({ key: CLIENT_PATH, match: { safe_regex: { regex: "^/dashboard(/.*)?$" } } }), statusFrom(500)],
    },
  },
  status_code: 503,
  headers_to_add: [{ header: { key: "retry-after", value: "5" }, append_action: "OVERWRITE_IF_EXISTS_OR_ADD" }],
  body_format_override: {
    text_format_source: {
      inline_string: AWAY_PAGE,
    },
    content_type: "text/html; charset=utf-8",
  },
};

/** Programs get the API's own format. */
const managementApiIsAway: EnvoyConfig = {
  filter: {
    and_filter: {
      filters: [clientMetadata({ key: CLIENT_PATH, match: { safe_regex: { regex: "^/api/v1(/.*)?$" } } }), statusFrom(500)],
    },
  },
  status_code: 503,
  headers_to_add: [{ header: { key: "retry-after", value: "5" }, append_action: "OVERWRITE_IF_EXISTS_OR_ADD" }],
  body_format_override: {
    json_format: {
      error: {
        type: "overloaded",
        message: "The management API is temporarily unavailable. Try again in a few seconds.",
        field: null,
      },
    },
    content_type: "application/json",
  },
};

interface OwnReply {
  filter: EnvoyConfig;
  error: GatewayError;
}

const processorFailed = new GatewayError("overloaded", "The gateway cannot accept this request right now. Try again.", {
  headers: { "retry-after": "1" },
});

const serverAway = new GatewayError("upstream_unavailable", "The model server cannot be reached right now. Try again.");

/** Envoy gave up before its filters ran: the input is hardly HTTP, or too large. */
const EARLY_REPLIES: readonly OwnReply[] = [
  { filter: statusIs(400), error: new GatewayError("invalid_request", "The request is not valid HTTP.") },
  // `upgrade_failed`, which also includes CONNECT. The status is the one at which Codex CLI continues over HTTP by itself.
  {
    filter: statusIs(403),
    error: new GatewayError(
      "invalid_request",
      'WebSockets and other upgrades of a connection are not supported. Send HTTP requests, with `"stream": true` for events.',
      { status: 426 },
    ),
  },
  { filter: statusIs(404), error: new GatewayError("not_found", "The path must begin with a slash, such as in `/v1/models`.") },
  { filter: statusIs(408), error: new GatewayError("invalid_request", "The request did not arrive in time.", { status: 408 }) },
  {
    filter: statusIs(426),
    error: new GatewayError(
      "invalid_request",
      "HTTP/1.0 is not supported. Use HTTP/1.1 or HTTP/2; if nginx passes the requests on, set `proxy_http_version 1.1`.",
      { status: 426 },
    ),
  },
  {
    filter: statusIs(431),
    error: new GatewayError(
      "invalid_request",
      `The request has too many headers, or they exceed ${MAX_CLIENT_HEADERS_KIB} KiB.`,
      { status: 431 },
    ),
  },
  {
    filter: statusIs(501),
    error: new GatewayError(
      "invalid_request",
      "This transfer-encoding is not supported: send the body chunked or with its length.",
      {
        status: 501,
      },
    ),
  },
  { filter: statusIs(503), error: processorFailed },
];

function lateReplies(maxRequestBytes: number): OwnReply[] {
  return [
    { filter: detailsMatch("response.code_details.startsWith('ext_proc_error')"), error: processorFailed },
    {
      filter: {
        and_filter: {
          // A redirect is a direct response, too, and not a failure.
          filters: [
            detailsMatch("response.code_details in ['direct_response', 'cluster_not_found', 'overload']"),
            statusFrom(400),
          ],
        },
      },
      error: processorFailed,
    },
    {
      filter: ANSWER_IS_TOO_LARGE,
      // Requests and answers have the same bound (listeners/clients.ts).
      error: new GatewayError(
        "upstream_error",
        `The model server's answer is larger than ${maxRequestBytes / 1024 / 1024} MiB, which the gateway does not support. Request less at a time.`,
        { headers: { "x-should-retry": "false" } },
      ),
    },
    // The backend's name resolves to a forbidden address (upstream-guard.ts).
    { filter: detailsMatch("response.code_details.startsWith('rbac_access_denied')"), error: serverAway },
    // There is no token for the backend yet, because its issuer is away (oauth-token.ts).
    { filter: detailsMatch("response.code_details.startsWith('failed_to_inject_credential')"), error: serverAway },
    // The operator cannot read the keys of a backend, and this Envoy never had them (aws-signing.ts).
    { filter: { response_flag_filter: { flags: ["NFCF"] } }, error: serverAway },
    { filter: statusIs(400), error: new GatewayError("invalid_request", "The request is not valid HTTP.") },
    { filter: statusIs(408), error: new GatewayError("invalid_request", "The request did not arrive in time.", { status: 408 }) },
    {
      filter: statusIs(413),
      error: new GatewayError("request_too_large", `The request body is larger than ${maxRequestBytes / 1024 / 1024} MiB.`),
    },
    { filter: statusIs(502), error: new GatewayError("upstream_error", "The model server's answer could not be read.") },
    { filter: statusIs(503), error: serverAway },
    { filter: statusIs(504), error: new GatewayError("upstream_timeout", "The model server did not answer in time.") },
    // Injecting a credential, reading a body: any other failure is nothing that the caller can act on.
    { filter: statusFrom(500), error: toGatewayError(new Error("a reply of Envoy's own")) },
  ];
}

/** The only reply to plain HTTP on a TLS port, whatever was requested. */
export function plainHttpReplies(error: GatewayError): EnvoyConfig {
  const stage = { filter: null, messagesClient: EARLY.messagesClient, headers: REQUEST_IDS };
  return { mappers: inBothDialects({ filter: statusFrom(400), error }, stage) };
}

interface Stage {
  /** Whether the mapper applies to the reply. */
  filter: EnvoyConfig | null;
  messagesClient: EnvoyConfig;
  /** Envoy's formatters for headers that errors of this stage have. */
  headers: Readonly<Record<string, string>>;
}

function inBothDialects({ filter, error }: OwnReply, stage: Stage): EnvoyConfig[] {
  const filters = stage.filter === null ? [filter] : [filter, stage.filter];
  return [
    { ...reply(error, "messages", stage), filter: { and_filter: { filters: [stage.messagesClient, ...filters] } } },
    { ...reply(error, "chat", stage), filter: filters.length === 1 ? filter : { and_filter: { filters } } },
  ];
}

function reply(error: GatewayError, dialect: Dialect, { headers }: Stage): EnvoyConfig {
  return {
    status_code: error.status,
    headers_to_add: Object.entries({ ...headers, ...error.headers }).map(([key, value]) => ({
      header: { key, value },
      append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
    })),
    body_format_override: {
      json_format: encodeError(dialect, error, `%RESP(${HEADERS.requestId})%`),
      content_type: "application/json",
    },
  };
}

const messagesPath: EnvoyConfig = { safe_regex: { regex: "^/+(v1/+)*messages([/?].*)?$" } };

const EARLY: Stage = {
  // No filter has recorded the client's path.
  filter: clientMetadata({ key: CLIENT_PATH, match: { exact: "" }, orAbsent: true }),
  messagesClient: { header_filter: { header: { name: ":path", string_match: messagesPath } } },
  // Envoy has not assigned an id yet, and each use of this one differs: `requestIdFilter` adds the second name.
  headers: { [HEADERS.requestId]: "%UNIQUE_ID%" },
};

const REQUEST_IDS = {
  [HEADERS.requestId]: `%REQ(${HEADERS.requestId})%`,
  [HEADERS.requestIdMessages]: `%REQ(${HEADERS.requestId})%`,
};

const LATE: Stage = {
  filter: null,
  // As the processor decides (S17): by the path's own interface, or a version header.
  messagesClient: {
    or_filter: {
      filters: [
        clientMetadata({ key: CLIENT_PATH, match: messagesPath }),
        clientMetadata({ key: CLIENT_VERSION, match: { exact: "present" } }),
      ],
    },
  },
  // A reply in the middle of a complete answer passes no further filter, which would add them.
  headers: { ...REQUEST_IDS, ...CROSS_ORIGIN_FORMATTERS },
};

function clientMetadata({ key, match, orAbsent = false }: { key: string; match: EnvoyConfig; orAbsent?: boolean }): EnvoyConfig {
  return {
    metadata_filter: {
      matcher: { filter: CLIENT_METADATA, path: [{ key }], value: { string_match: match } },
      match_if_key_not_found: orAbsent,
    },
  };
}
