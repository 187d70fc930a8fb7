import { GatewayError } from "./errors.ts";
import { HEADERS, MESSAGES_VERSIONS } from "./headers.ts";

/** @returns a header's value, by its name in lower case. */
type ReadHeader = (name: string) => string | undefined;

const NAMES = [HEADERS.versionNeutral, HEADERS.version] as const;

/** Whether the request has the Messages interface's version header, in either spelling (S4, S10). */
export function hasVersion(read: ReadHeader): boolean {
  return NAMES.some((name) => read(name) !== undefined);
}

/**
 * A missing version means the service's own (S4).
 * @throws GatewayError `unsupported_version` for an unknown one.
 */
export function checkVersion(read: ReadHeader): void {
  for (const name of NAMES) {
    const version = read(name);
    if (version === undefined || MESSAGES_VERSIONS.includes(version)) continue;
    throw new GatewayError(
      "unsupported_version",
      `The header \`${name}\` has a version that is not supported. Send ${MESSAGES_VERSIONS.map((known) => `\`${name}: ${known}\``).join(" or ")}.`,
      { field: name },
    );
  }
}
