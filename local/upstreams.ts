import type { LocalUpstreams } from "../operator/source/local-upstreams.ts";

/** The model servers of the demonstration's Models. */
export interface UpstreamOptions {
  /** Base URL with `/v1`; the simulator if absent. */
  chatUrl?: string;
  /** Base URL without `/v1`; the simulator if absent. */
  messagesUrl?: string;
  /** Base URL with `/v1`; the simulator if absent. */
  responsesUrl?: string;
  /** Credential for the given ones. */
  key?: string;
  /** The model's name on the given servers. */
  model?: string;
}

/** Placeholders in the manifests: only these origins are replaced; any other url is used as written. */
const CHAT_PLACEHOLDER = "http://chat.simulator.localhost";
const MESSAGES_PLACEHOLDER = "http://messages.simulator.localhost";
const RESPONSES_PLACEHOLDER = "http://responses.simulator.localhost";
/** A server given for conversations may have no embeddings, rankings, images, speech or transcriptions, and uses other model names for them. */
const EMBEDDINGS_PLACEHOLDER = "http://embeddings.simulator.localhost";
const RERANK_PLACEHOLDER = "http://rerank.simulator.localhost";
const IMAGES_PLACEHOLDER = "http://images.simulator.localhost";
const SPEECH_PLACEHOLDER = "http://speech.simulator.localhost";
const TRANSCRIPTION_PLACEHOLDER = "http://transcription.simulator.localhost";

/** Value of GATEWAY_LOCAL_UPSTREAMS: the real target of each placeholder in the manifests. */
export function mapUpstreams(options: UpstreamOptions, simulatorUrl: string): LocalUpstreams {
  const given = {
    ...(options.model === undefined ? {} : { upstreamModel: options.model }),
    ...(options.key === undefined ? {} : { credential: options.key }),
  };
  return {
    [CHAT_PLACEHOLDER]: options.chatUrl === undefined ? { url: `${simulatorUrl}/v1` } : { url: options.chatUrl, ...given },
    [MESSAGES_PLACEHOLDER]: options.messagesUrl === undefined ? { url: simulatorUrl } : { url: options.messagesUrl, ...given },
    [RESPONSES_PLACEHOLDER]:
      options.responsesUrl === undefined ? { url: `${simulatorUrl}/v1` } : { url: options.responsesUrl, ...given },
    [EMBEDDINGS_PLACEHOLDER]: { url: `${simulatorUrl}/v1` },
    [RERANK_PLACEHOLDER]: { url: `${simulatorUrl}/v1` },
    [IMAGES_PLACEHOLDER]: { url: `${simulatorUrl}/v1` },
    [SPEECH_PLACEHOLDER]: { url: `${simulatorUrl}/v1` },
    [TRANSCRIPTION_PLACEHOLDER]: { url: `${simulatorUrl}/v1` },
  };
}
