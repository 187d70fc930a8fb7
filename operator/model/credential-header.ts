import * as z from "zod";
import { celPattern, explain } from "../crd/explain.ts";
import { must } from "./field-message.ts";

const FORM = /^[a-z][-a-z0-9]*$/;
/** Without this bound, the API server finds the rule too dear. */
const MAX_LENGTH = 64;
const EXAMPLE = "must be the name of a header in lower case, such as api-key";
/** Set by the gateway or by HTTP itself: a key in their place would break every request. */
const RESERVED =
  /^(accept|accept-.*|anthropic-.*|connection|content-.*|cookie|expect|forwarded|host|keep-alive|msgapi-version|proxy-.*|te|traceparent|tracestate|trailer|transfer-encoding|upgrade|user-agent|via|x-envoy-.*|x-forwarded-.*|x-gateway-.*|x-request-id)$/;
const NOT_FOR_KEYS = "must be a header for credentials; this one has another use";

/** Where a server expects its key, if not where its protocol puts it. */
export const credentialHeader = z
  .string(must("be the name of a header"))
  .regex(FORM, EXAMPLE)
  .max(MAX_LENGTH, `must be at most ${MAX_LENGTH} characters`)
  .refine((name) => !RESERVED.test(name), NOT_FOR_KEYS)
  .meta(
    explain(
      "Header for the key, in lower case: api-key for Azure, for example. authorization sends the key as a bearer token, any other header the key alone. If absent, x-api-key for Messages, and authorization for the other protocols.",
      { rules: [{ rule: `!self.matches(${celPattern(RESERVED)})`, message: NOT_FOR_KEYS }] },
    ),
  );
