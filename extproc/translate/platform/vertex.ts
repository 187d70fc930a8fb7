import { platformPath } from "../../../contract/platform.ts";
import type { Backend } from "../../../contract/catalogue.ts";
import { HEADERS } from "../../../contract/headers.ts";
import { editMembers, remove, write, type MemberEdits } from "../../protocol/json/splice.ts";
import type { Translation } from "../translation.ts";

/**
 * Members that Vertex AI has of its own: the form of the messages protocol, which stands in for the header `anthropic-version`,
 * and betas, of which a client's own would evade what holds for the header.
 */
export const VERTEX_MEMBERS: MemberEdits = {
  anthropic_version: write("vertex-2023-10-16"),
  anthropic_beta: remove,
};

/** A translation for Anthropic's own interface, sent to Vertex AI: model and stream are in the path. Its answers are Anthropic's. */
export function onVertex(translation: Translation, { upstreamModel }: Backend): Translation {
  const { upstream, wantsStream } = translation;
  const { [HEADERS.version]: _version, ...headers } = upstream.headers;
  return {
    ...translation,
    upstream: {
      path: platformPath("vertex", { model: upstreamModel, isStream: wantsStream }),
      body: editMembers(upstream.body, { model: remove, ...VERTEX_MEMBERS }),
      headers,
    },
  };
}
