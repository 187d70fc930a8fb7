import { platformPath } from "../../../contract/platform.ts";
import type { Backend } from "../../../contract/catalogue.ts";
import { editMembers, remove, write } from "../../protocol/json/splice.ts";
import { BETA_HEADER } from "../passthrough/betas.ts";
import type { Translation } from "../translation.ts";
import { fromEventStream } from "./bedrock-stream.ts";

/** The form of the messages protocol, which stands in for the header `anthropic-version`. */
const VERSION = "bedrock-2023-05-31";

/** A translation for Anthropic's own interface, sent to Bedrock: model and stream are in the path, and headers in the body. */
export function onBedrock(translation: Translation, { upstreamModel }: Backend): Translation {
  const { upstream, wantsStream } = translation;
  const betas = (upstream.headers[BETA_HEADER] ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => beta !== "");
  return {
    ...translation,
    upstream: {
      path: platformPath("bedrock", { model: upstreamModel, isStream: wantsStream }),
      body: editMembers(upstream.body, {
        model: remove,
        stream: remove,
        anthropic_version: write(VERSION),
        // A client's own would evade what holds for the header.
        anthropic_beta: betas.length === 0 ? remove : write(betas),
      }),
      headers: { accept: wantsStream ? "application/vnd.amazon.eventstream" : "application/json" },
    },
    stream: (meter) => fromEventStream(translation.stream(meter)),
  };
}
