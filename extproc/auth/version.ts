import { GatewayError } from "../../contract/errors.ts";
import { HEADERS, MESSAGES_VERSIONS } from "../../contract/headers.ts";

/** Whether the request has the Messages interface's version header, in either spelling (S4, S10). */
export function hasVersion(headers: ReadonlyMap<string, string>): boolean {
  return headers.has(HEADERS.version) || headers.has(HEADERS.versionNeutral);
}

/**
 * A missing version means the service's own (S4).
 * @throws GatewayError `unsupported_version` for an unknown one.
 */
export function checkVersion(headers: ReadonlyMap<string, string>): void {
  for (const name of [HEADERS.versionNeutral, HEADERS.version]) {
    const version = headers.get(name);
    if (version === undefined || MESSAGES_VERSIONS.includes(version)) continue;
    throw new GatewayError(
      "unsupported_version",
      `The header \`${name}\` has a version that is not supported. Send ${MESSAGES_VERSIONS.map((known) => `\`${name}: ${known}\``).join(" or ")}.`,
      { field: name },
    );
  }
}
