import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

interface Expected {
  region: string;
  service: string;
  /** By access key id. */
  secrets: ReadonlyMap<string, string>;
}

/** Allowed difference between the clocks, as at AWS. */
const SKEW_MS = 5 * 60_000;
const ALGORITHM = "AWS4-HMAC-SHA256";
/** Without these, a signature could be used for another request. */
const REQUIRED = ["host", "x-amz-content-sha256", "x-amz-date"];

/**
 * Checks a request as a server of AWS does, from the specification of Signature Version 4.
 * @returns what is wrong; null if nothing is.
 */
export function checkSignature(request: IncomingMessage, body: string, { region, service, secrets }: Expected): string | null {
  const found = /^(\S+) Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? "",
  );
  if (found === null) return `there is no signature in ${JSON.stringify(request.headers.authorization)}`;
  const [, algorithm = "", credential = "", names = "", signature = ""] = found;
  if (algorithm !== ALGORITHM) return `the algorithm is ${algorithm}`;
  const time = headerOf(request, "x-amz-date");
  const [id = "", ...scopeParts] = credential.split("/");
  const scope = scopeParts.join("/");
  if (scope !== `${time.slice(0, 8)}/${region}/${service}/aws4_request`) return `the scope is ${scope} at ${time}`;
  if (Math.abs(Date.now() - parseTime(time)) > SKEW_MS) return `the time is ${time}`;
  const secret = secrets.get(id);
  if (secret === undefined) return `there is no key ${id}`;
  const signed = names.split(";");
  const missing = [...REQUIRED, ...("x-amz-security-token" in request.headers ? ["x-amz-security-token"] : [])].filter(
    (name) => !signed.includes(name),
  );
  if (missing.length > 0) return `not signed: ${missing.join(", ")}`;
  if (headerOf(request, "x-amz-content-sha256") !== sha256(body)) return "the body is another";

  const canonical = [
    request.method ?? "",
    ...canonicalTarget(request.url ?? "/"),
    ...signed.map((name) => `${name}:${headerOf(request, name).trim().replaceAll(/ +/g, " ")}`),
    "",
    names,
    sha256(body),
  ].join("\n");
  const text = [ALGORITHM, time, scope, sha256(canonical)].join("\n");
  const key = [...scopeParts].reduce<Buffer>((previous, part) => hmac(previous, part), Buffer.from(`AWS4${secret}`));
  return hmac(key, text).toString("hex") === signature ? null : "the signature is another";
}

/** Path and query: every service but S3 encodes the path's segments once more. */
function canonicalTarget(target: string): [path: string, query: string] {
  const [path = "", query = ""] = target.split("?");
  const pairs =
    query === "" ? [] : query.split("&").map((pair) => pair.split("=").map((part) => encode(decodeURIComponent(part))));
  const sorted = pairs.map(([name = "", value = ""]) => `${name}=${value}`).toSorted();
  return [path.split("/").map(encode).join("/"), sorted.join("&")];
}

/** RFC 3986: more than `encodeURIComponent` does. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

function headerOf({ headers }: IncomingMessage, name: string): string {
  const value = headers[name];
  return Array.isArray(value) ? value.join(",") : (value ?? "");
}

/** Of `20261123T223726Z`. */
function parseTime(time: string): number {
  return Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
