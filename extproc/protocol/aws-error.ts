/** Statuses by the names of AWS's exceptions: in an answer's header, and in event streams, which have no status. */
const STATUSES = new Map([
  ["validationException", 400],
  ["accessDeniedException", 403],
  ["expiredTokenException", 403],
  ["unrecognizedClientException", 403],
  ["resourceNotFoundException", 404],
  ["modelTimeoutException", 408],
  ["throttlingException", 429],
  ["modelNotReadyException", 429],
  // Answered with 400, as if the request were at fault.
  ["serviceQuotaExceededException", 429],
  ["modelErrorException", 502],
  ["modelStreamErrorException", 502],
  ["serviceUnavailableException", 503],
  ["internalServerException", 500],
]);

/** @param name as in `ThrottlingException`, in either case, possibly with a namespace before it or an address after it. */
export function exceptionStatus(name: string): number | null {
  const plain = /^(?:[^#]*#)?([A-Za-z]+)/.exec(name.slice(0, 256))?.[1] ?? "";
  return STATUSES.get(plain.charAt(0).toLowerCase() + plain.slice(1)) ?? null;
}

/** What an answer's status means: its own, unless it is an error whose exception says another. */
export function statusMeant(status: number, headers: ReadonlyMap<string, string>): number {
  const name = headers.get("x-amzn-errortype");
  return status < 400 || name === undefined ? status : (exceptionStatus(name) ?? status);
}
