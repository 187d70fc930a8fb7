import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  HeaderValueOption_HeaderAppendAction as AppendAction,
  type HeaderValueOptionSchema,
} from "../runtime/gen/envoy/config/core/v3/base_pb.js";
import {
  ProcessingMode_BodySendMode as BodyMode,
  ProcessingMode_HeaderSendMode as HeaderMode,
} from "../runtime/gen/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js";
import {
  CommonResponse_ResponseStatus as ResponseStatus,
  ProcessingResponseSchema,
  type HeaderMutationSchema,
  type ProcessingResponse,
} from "../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";

/** Builds the ext_proc messages that answer Envoy: the only place that knows their shape, beside server.ts. */

type Headers = Readonly<Record<string, string>>;

export interface HeaderChanges {
  set?: Headers;
  remove?: readonly string[];
}

export interface ImmediateAnswer {
  status: number;
  headers: Headers;
  body: Buffer;
  /** Why, for Envoy's access log: `gateway_…`. Envoy's own reply mapper leaves such replies alone. */
  details: string;
}

/** Request headers are fine so far: send the body. */
export function continueToBody(): ProcessingResponse {
  return create(ProcessingResponseSchema, { response: { case: "requestHeaders", value: {} } });
}

/** Envoy answers the client itself; nothing goes upstream. */
export function answerNow(answer: ImmediateAnswer): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: "immediateResponse",
      value: {
        status: { code: answer.status },
        headers: mutation({ set: answer.headers }),
        body: answer.body,
        details: answer.details,
      },
    },
  });
}

/** The translated request. `content-length` must equal the new body, or Envoy refuses it. */
export function forwardRequest(body: Buffer | "unchanged", headers: HeaderChanges): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: "requestBody",
      value: { response: { ...bodyChange(body), headerMutation: mutation(withLength(body, headers)), clearRouteCache: true } },
    },
  });
}

/** The request of one attempt, as an answer to its headers: its body never comes here, and is replaced. */
export function replaceRequest(body: Buffer | "unchanged", headers: HeaderChanges): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: "requestHeaders",
      value: {
        response: {
          status: body === "unchanged" ? ResponseStatus.CONTINUE : ResponseStatus.CONTINUE_AND_REPLACE,
          ...bodyChange(body),
          headerMutation: mutation(headers),
          clearRouteCache: true,
        },
      },
    },
  });
}

/** The response comes whole: its body is the next message. */
export function awaitResponseBody(headers: HeaderChanges): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: { case: "responseHeaders", value: { response: { headerMutation: mutation(headers) } } },
  });
}

/** The response is streamed: each chunk is a message from here on. */
export function streamResponseBody(headers: HeaderChanges): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: { case: "responseHeaders", value: { response: { headerMutation: mutation(headers) } } },
    // Header modes left at DEFAULT are ignored in an override, body modes never are: an unset one would mean NONE.
    modeOverride: {
      requestHeaderMode: HeaderMode.SEND,
      requestBodyMode: BodyMode.BUFFERED,
      requestTrailerMode: HeaderMode.SKIP,
      responseHeaderMode: HeaderMode.SEND,
      responseBodyMode: BodyMode.STREAMED,
      responseTrailerMode: HeaderMode.SKIP,
    },
  });
}

/** A whole response body for the client, its headers still open to change. */
export function finishResponse(body: Buffer | "unchanged", headers: HeaderChanges): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: "responseBody",
      value: { response: { ...bodyChange(body), headerMutation: mutation(withLength(body, headers)) } },
    },
  });
}

/** One chunk of a streamed response. Envoy ignores header changes here. */
export function passChunk(body: Buffer | "unchanged"): ProcessingResponse {
  return create(ProcessingResponseSchema, { response: { case: "responseBody", value: { response: bodyChange(body) } } });
}

function bodyChange(body: Buffer | "unchanged") {
  if (body === "unchanged") return {};
  if (body.length === 0) return { bodyMutation: { mutation: { case: "clearBody", value: true } } } as const;
  return { bodyMutation: { mutation: { case: "body", value: body } } } as const;
}

function withLength(body: Buffer | "unchanged", headers: HeaderChanges): HeaderChanges {
  if (body === "unchanged") return headers;
  return { ...headers, set: { ...headers.set, "content-length": String(body.length) } };
}

function mutation(changes: HeaderChanges): MessageInitShape<typeof HeaderMutationSchema> {
  return { setHeaders: Object.entries(changes.set ?? {}).map(toOption), removeHeaders: [...(changes.remove ?? [])] };
}

// The default action appends, which would let a client's own value stand beside ours.
function toOption([key, value]: [string, string]): MessageInitShape<typeof HeaderValueOptionSchema> {
  return { header: { key, rawValue: Buffer.from(value) }, appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}
