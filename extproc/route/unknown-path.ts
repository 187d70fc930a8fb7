import { CLIENT_PATHS, EDITS_PATH, TRANSLATIONS_PATH } from "../../contract/protocol.ts";
/** Paths that are served, with their methods. */
const SERVED: readonly (readonly [method: string, path: string])[] = [
  ["POST", CLIENT_PATHS.chat],
  ["POST", CLIENT_PATHS.messages],
  ["POST", "/v1/messages/count_tokens"],
  ["POST", CLIENT_PATHS.responses],
  ["POST", "/v1/responses/input_tokens"],
  ["POST", CLIENT_PATHS.embeddings],
  ["POST", CLIENT_PATHS.rerank],
  ["POST", CLIENT_PATHS.image_generation],
  ["POST", `/v1${EDITS_PATH}`],
  ["POST", CLIENT_PATHS.speech],
  ["POST", CLIENT_PATHS.transcription],
  ["POST", `/v1${TRANSLATIONS_PATH}`],
  ["GET", "/v1/models"],
  ["GET", "/v1/balance"],
  ["GET", "/v1/usage"],
];

/** The dashboard's, so a gateway without one does not have them. */
const OF_DASHBOARD = "With a dashboard also /v1/files, /v1/batches and /v1/messages/batches.";

const BASE_URLS = "Anthropic-style clients need the base URL without `/v1`, OpenAI-style clients with exactly one.";

/** What other services have at such a path, and its equivalent here. */
const ELSEWHERE: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^(\/v1)?\/responses\/compact$/,
    "Compacting conversations is not supported. Shorten `input` in the client, and POST /v1/responses.",
  ],
  [
    /^(\/v1)?\/responses\/[^/]+\/cancel$/,
    "There is nothing to cancel: responses are not created in the background. To stop one, close the connection of its request.",
  ],
  [
    /^\/v1\/responses\/(?!.*\/(completions|messages|responses)$)/,
    "No model here stores responses, or this operation on them is not supported. POST /v1/responses with the whole conversation in `input`.",
  ],
  [/^(\/v1)?\/(completions|engines\/.*)$/, "Text completions are not supported. POST to /v1/chat/completions."],
  [/^(\/v1)?\/complete$/, "Text completions are not supported. POST to /v1/messages."],
  [
    /^\/openai\/deployments\//,
    "Deployment addresses belong to another service. POST to /v1/chat/completions with the name of a model as `model`.",
  ],
  [/:(generateContent|streamGenerateContent|countTokens)$/, "Gemini's interface is not supported. POST to /v1/chat/completions."],
  [/^\/api\/(chat|generate|tags|show|ps|version)$/, "Ollama's own interface is not supported. POST to /v1/chat/completions."],
  [/^\/api\/embed(dings)?$/, "Ollama's own interface is not supported. POST to /v1/embeddings."],
  [/^\/v[12]\/(chat|generate)$/, "Cohere's chat is not supported. POST to /v1/chat/completions."],
  [/^\/v[12]\/embed$/, "Cohere's form of embeddings is not supported. POST to /v1/embeddings."],
  [
    /^(\/v1)?\/chat\/completions\/[^/]+$/,
    "Chat completions are not stored. POST to /v1/chat/completions, or to /v1/responses of a model that stores responses.",
  ],
  [
    /^(\/v1)?\/conversations(\/|$)/,
    "Conversations are not stored. POST /v1/responses with the whole conversation in `input`, or with `previous_response_id` if the model stores responses.",
  ],
  [
    /^(\/v1)?\/(organizations?|dashboard|me|credits|key|auth\/key)(\/|$)/,
    "Administration is not part of this interface. GET /v1/balance and GET /v1/usage report what this key's account has and what the key used; the management API at /api/v1 has the rest.",
  ],
  [
    /^(\/v1)?\/(health|healthz|livez|readyz|ping|status|v1)$/,
    "Send GET / instead: it needs no key, and answers while the gateway runs.",
  ],
  [
    /^(\/v1)?\/images\/variations$/,
    "Variations of images are not supported. POST /v1/images/edits changes images as a prompt says.",
  ],
  [
    /^\/*(v1\/*)?(files|batch|batches|message_batches|messages\/+batches)(\/|$)/i,
    "Files and batches are at exactly /v1/files, /v1/batches and /v1/messages/batches, on a gateway with a dashboard.",
  ],
  [
    /^(\/v1)?\/(images(?!.*\/(generations|edits)$)|audio(?!.*\/(speech|transcriptions|translations)$)|videos|moderations|uploads|fine_tuning|vector_stores|assistants|threads|realtime|live|evals|containers|skills|agents|sessions|environments|memory_stores|chatkit|decisions)(\/|$)/,
    "That part of the interface is not supported: this gateway generates text, embeddings, images and speech, edits images, transcribes recordings, and ranks documents.",
  ],
];

/** Why a path is a 404, with the path that was probably meant (S20). @param path without its query, not decoded. */
export function describeUnknownPath(path: string): string {
  if (/^\/+v1\/+v1(\/|$)/.test(path)) return `The path has one \`/v1\` too many. ${BASE_URLS}`;
  const elsewhere = ELSEWHERE.find(([pattern]) => pattern.test(path));
  if (elsewhere !== undefined) return `${elsewhere[1]} ${listServed()}`;
  const meant = findMeant(path);
  return meant === null ? `This path does not exist. ${listServed()}` : meant;
}

function findMeant(path: string): string | null {
  const tidy = path.toLowerCase().replaceAll(/\/{2,}/g, "/");
  const exact = find((served) => served === tidy);
  if (exact !== null) return `This path does not exist. Send ${exact}, in lower case and with single slashes.`;
  const plural = find((served) => served === `${tidy}s`);
  if (plural !== null) return `This path does not exist. Send ${plural}.`;
  const unversioned = find((served) => served === `/v1${tidy}`);
  if (unversioned !== null) return `This path does not exist: \`/v1\` is missing. Send ${unversioned}. ${BASE_URLS}`;
  // A base URL that ends with an endpoint, or begins with another service's folder.
  const long = find((served) => tidy.endsWith(served) || tidy.endsWith(served.slice("/v1".length)));
  return long === null ? null : `This path does not exist: it has an extra prefix before ${long}. ${BASE_URLS}`;
}

function find(isMeant: (path: string) => boolean): string | null {
  const served = SERVED.findLast(([, path]) => isMeant(path));
  return served === undefined ? null : served.join(" ");
}

function listServed(): string {
  return `Available: ${SERVED.map((served) => served.join(" ")).join(", ")}. ${OF_DASHBOARD}`;
}
