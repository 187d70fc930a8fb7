import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { ExportTraceServiceRequestSchema, type SpanSchema } from "../../runtime/gen/otlp/traces_pb.js";
import { encodeAttributes } from "./attributes.ts";

const NAME = "model-gateway";

/** Spans of one account, as OTLP's binary form of an export. */
export function encodeSpans(accountId: string, spans: MessageInitShape<typeof SpanSchema>[]): Uint8Array {
  const attributes = encodeAttributes({ "service.name": NAME, "gateway.account.id": accountId });
  const request = create(ExportTraceServiceRequestSchema, {
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: NAME }, spans }] }],
  });
  return toBinary(ExportTraceServiceRequestSchema, request);
}
