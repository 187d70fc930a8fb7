import type { GoogleOptions } from "../address/google.ts";
import type { AwsKeys } from "../xds/aws-signing.ts";
import { hostHeader, type Endpoint, type EndpointCredential } from "../xds/endpoint.ts";
import type { SecretContent } from "../xds/secret.ts";
import type { BackendResource } from "./backend-resource.ts";
import { AWS_KEYS, type CloudCredential } from "./cloud-credential.ts";
import { credentialHeaderOf, headerValueOf } from "./credential-header-of.ts";
import type { FindValue, MissingSecret, UnreadSecret } from "./secret-value.ts";

/** What Envoy needs to prove the gateway's identity to a server. */
interface ReadyCredential {
  kind: "ready";
  /** Null: the server takes none. */
  credential: EndpointCredential | null;
  /** By the name that Envoy requests. */
  secrets: ReadonlyMap<string, SecretContent>;
  /** Everything in it that a server might repeat. */
  words: readonly string[];
  /** Its value is unknown, and not in the two above; Envoy may still have it. */
  unread?: UnreadSecret;
}

export type ResolvedCredential =
  | ReadyCredential
  | { kind: "missing"; reason: MissingSecret["reason"] | UnreadSecret["reason"] | "InvalidCredential"; message: string };

type FoundWord = { kind: "word"; name: string; value: string } | UnreadSecret | Extract<ResolvedCredential, { kind: "missing" }>;

interface CredentialDeps {
  find: FindValue;
  /** Of the server at an address. */
  serverAt(url: string): Endpoint;
  google: GoogleOptions | null;
}

export function resolveCredential(resource: BackendResource, { find, serverAt, google }: CredentialDeps): ResolvedCredential {
  const { url, credential, credentialRef } = resource;
  if (credential?.aws !== undefined)
    return resolveAws(credential.aws, { find, host: url === undefined ? "" : hostHeader(serverAt(url)) });
  if (credential?.oauth !== undefined) return resolveOauth(credential.oauth, { find, serverAt });
  if (credential?.google !== undefined && google !== null) return resolveGoogle(google);
  if (credentialRef === undefined) return { kind: "ready", credential: null, secrets: new Map(), words: [] };
  const found = findWord(find, credentialRef);
  if (found.kind === "missing") return found;
  const { name: header, form } = credentialHeaderOf(resource);
  const secret = `credential/${found.name}/${credentialRef.key}/${form}`;
  return { kind: "ready", credential: { header, secret }, ...sent(secret, found, (value) => headerValueOf(form, value)) };
}

/** What Envoy gets of a value, under this SDS name. */
function sent(
  secret: string,
  found: Exclude<FoundWord, { kind: "missing" }>,
  toHeader: (value: string) => string,
): Pick<ReadyCredential, "secrets" | "words" | "unread"> {
  if (found.kind === "unread") return { secrets: new Map(), words: [], unread: found };
  return { secrets: new Map([[secret, { kind: "credential", headerValue: toHeader(found.value) }]]), words: [found.value] };
}

function resolveAws(
  { region, service, secretRef }: NonNullable<CloudCredential["aws"]>,
  { find, host }: { find: FindValue; host: string },
): ResolvedCredential {
  if (secretRef === undefined)
    return { kind: "ready", credential: { aws: { region, service, keys: null } }, secrets: new Map(), words: [] };
  const found = findAwsKeys((key) => findWord(find, { ...secretRef, key }));
  if (found.kind === "missing") return found;
  const name = `signer/${found.name}/${region}/${service}/${host}`;
  const credential = { aws: { region, service, keys: name } };
  if (found.kind === "unread") return { kind: "ready", credential, secrets: new Map(), words: [], unread: found };
  const { keys } = found;
  const words = [keys.id, keys.secret, keys.session].filter((word) => word !== null);
  return {
    kind: "ready",
    credential,
    secrets: new Map([[name, { kind: "signer", signer: { region, service, host, keys } }]]),
    words,
  };
}

type FoundAwsKeys = { kind: "keys"; name: string; keys: AwsKeys } | Exclude<FoundWord, { kind: "word" }>;

function findAwsKeys(findIn: (key: string) => FoundWord): FoundAwsKeys {
  const id = findIn(AWS_KEYS.id);
  if (id.kind !== "word") return id;
  const secret = findIn(AWS_KEYS.secret);
  if (secret.kind !== "word") return secret;
  const session = findIn(AWS_KEYS.session);
  const { name } = id;
  if (session.kind === "word")
    return { kind: "keys", name, keys: { id: id.value, secret: secret.value, session: session.value } };
  // Only temporary keys have one.
  if (session.reason !== "KeyMissing") return session;
  return { kind: "keys", name, keys: { id: id.value, secret: secret.value, session: null } };
}

function resolveOauth(
  { secretRef, ...oauth }: NonNullable<CloudCredential["oauth"]>,
  { find, serverAt }: Pick<CredentialDeps, "find" | "serverAt">,
): ResolvedCredential {
  const found = findWord(find, secretRef);
  if (found.kind === "missing") return found;
  const secret = `client-secret/${found.name}/${secretRef.key}`;
  return {
    kind: "ready",
    credential: { oauth: { ...oauth, server: serverAt(oauth.tokenUrl), secret } },
    ...sent(secret, found, (value) => value),
  };
}

function resolveGoogle({ metadata }: GoogleOptions): ResolvedCredential {
  // Envoy's client for tokens wants one; the request for the metadata server goes without (bootstrap/listeners/tokens.ts).
  const secret = "client-secret/google";
  return {
    kind: "ready",
    credential: { google: { metadata, secret } },
    secrets: new Map([[secret, { kind: "credential", headerValue: "unused" }]]),
    words: [],
  };
}

/** No server takes a longer header, and each word of a value is kept as a fingerprint in the catalogue. */
const MAX_CHARACTERS = 16_384;

/** A value that fits into a header. */
function findWord(find: FindValue, reference: { name: string; key: string }): FoundWord {
  const found = find(reference);
  if (found.kind !== "found") return found;
  const value = found.value.trim();
  const problem = problemOf(value);
  if (problem === null) return { kind: "word", name: found.name, value };
  const message = `Secret ${found.name}, key ${reference.key}, ${problem}`;
  return { kind: "missing", reason: "InvalidCredential", message };
}

/** Continues the sentence after the value's place. */
function problemOf(value: string): string | null {
  if (value === "") return "must not be empty";
  if (value.length > MAX_CHARACTERS) return `must be at most ${MAX_CHARACTERS} characters`;
  return /^[\x21-\x7e]+$/.test(value) ? null : "must be printable text without spaces";
}
