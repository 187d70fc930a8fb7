import type { LocalUpstreams } from "../operator/source/local-upstreams.ts";

/** The model servers behind the demonstration's Models. */
export interface UpstreamOptions {
  /** Base address with `/v1`; the simulator where not given. */
  chatUrl?: string;
  /** Base address without `/v1`; the simulator where not given. */
  messagesUrl?: string;
  /** Base address with `/v1`; the simulator where not given. */
  responsesUrl?: string;
  /** Credential for the given ones. */
  key?: string;
  /** Model name that the given ones know. */
  model?: string;
}

/** Stand-ins in the manifests: only these four origins are replaced; any other url is used as written. */
const CHAT_PLACEHOLDER = "http://chat.simulator.localhost";
const MESSAGES_PLACEHOLDER = "http://messages.simulator.localhost";
const RESPONSES_PLACEHOLDER = "http://responses.simulator.localhost";
/** A server that is given for conversations may have no embeddings, and knows these by another name. */
const EMBEDDINGS_PLACEHOLDER = "http://embeddings.simulator.localhost";

/** Value of GATEWAY_LOCAL_UPSTREAMS: for each placeholder in the manifests, where its requests really go. */
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
  };
}
