import type { MessageInitShape } from "@bufbuild/protobuf";
import { ApiVersion, type ConfigSourceSchema } from "../../runtime/gen/envoy/config/core/v3/config_source_pb.js";

/** "Request it from the operator, on your existing stream." */
export function overAds(): MessageInitShape<typeof ConfigSourceSchema> {
  return { resourceApiVersion: ApiVersion.V3, configSourceSpecifier: { case: "ads", value: {} } };
}
