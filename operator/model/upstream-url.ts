import * as z from "zod";
import { celPattern, explain } from "../crd/explain.ts";
import { must } from "./field-message.ts";

const EXAMPLE = "must be an absolute http or https URL such as https://models.example.com/v1";
const TOKEN_EXAMPLE = "must be an absolute http or https URL such as https://login.example.com/oauth2/token";

const GUARDRAIL_EXAMPLE = "must be an absolute http or https URL such as https://checks.example.com/v1/moderations";

const LABEL = "[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?";
/** URL parsers treat a host whose last label is a number as an IPv4 address, however it is written. */
const LAST_LABEL = "([1-9][0-9]*-*)?[A-Za-z_]([-A-Za-z0-9_]*[A-Za-z0-9_])?";
const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
const HOST = String.raw`((${LABEL}\.)*${LAST_LABEL}|(${OCTET}\.){3}${OCTET}|\[[0-9A-Fa-f:.]+\])`;
/**
 * Written as a pattern, because the API server allows no rule over the results of its own url(). A user, a query and a fragment
 * are accepted here, for the messages below.
 */
const FORM = new RegExp(String.raw`^https?://([^\s/?#@\\]*@)?${HOST}(:${PORT})?([/?#]([^\s\\%]|%[0-9A-Fa-f]{2})*)?$`);

/** Envoy takes no longer name for TLS, and no name server has one. */
const LONG_HOST = { pattern: /^[^/]*\/\/[^/:?#]{254}/, message: "must have a host of at most 253 characters" };

const REFUSED = [
  {
    pattern: /^[^/]*\/\/[^/?#]*@/,
    message: "must not contain a credential; put it in a Secret and name that Secret in credentialRef",
  },
  { pattern: /[?#]/, message: "must not contain a query or a fragment; if the server requires api-version, set apiVersion" },
  {
    pattern:
      /\/(chat\/completions|messages|responses|invoke|invoke-with-response-stream|publishers\/anthropic\/models(\/[^/]*)?)\/*$/,
    message: "must be the base URL only; the gateway appends the rest",
  },
];

/** The server's base URL, as an SDK of its protocol expects it. */
export const upstreamUrl = httpUrl({
  example: EXAMPLE,
  refused: REFUSED,
  description:
    "Base URL of the server, as SDKs expect it: with /v1 for ChatCompletions and Responses, without it for Messages. http or https, without credentials or query.",
});

/** Where tokens are fetched. */
export const tokenUrl = httpUrl({
  example: TOKEN_EXAMPLE,
  refused: [
    { pattern: /^[^/]*\/\/[^/?#]*@/, message: "must not contain a credential; put the client's secret in a Secret" },
    { pattern: /[?#]/, message: "must not contain a query or a fragment" },
  ],
  description: "Address that issues tokens: http or https, without credentials or query.",
});

/** Of a hook. */
export const guardrailUrl = httpUrl({
  example: GUARDRAIL_EXAMPLE,
  refused: [
    {
      pattern: /^[^/]*\/\/[^/?#]*@/,
      message: "must not contain a credential; put it in a Secret and name that Secret in credentialRef",
    },
    { pattern: /[?#]/, message: "must not contain a query or a fragment" },
  ],
  description:
    "Full URL of the hook, such as https://api.openai.com/v1/moderations: http or https, without credentials or query.",
});

interface UrlRules {
  /** For what is no URL at all. */
  example: string;
  /** Beyond what no URL may have. */
  refused: readonly { pattern: RegExp; message: string }[];
  description: string;
}

function httpUrl({ example, refused: more, description }: UrlRules) {
  const refused = [LONG_HOST, ...more];
  return refused
    .reduce(
      (schema, { pattern, message }) => schema.refine((text) => !pattern.test(text), message),
      z
        .string(must("be a URL"))
        .regex(FORM, example)
        .max(512, "must be at most 512 characters")
        // Errors beyond the pattern: a malformed IPv6 address, for example.
        .refine((text) => !FORM.test(text) || URL.canParse(text), example),
    )
    .meta(
      explain(description, {
        rules: refused.map(({ pattern, message }) => ({ rule: `!self.matches(${celPattern(pattern)})`, message })),
      }),
    );
}
