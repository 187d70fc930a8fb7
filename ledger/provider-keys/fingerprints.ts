import { fingerprintsOf, type Fingerprint } from "../../runtime/credential-fingerprint.ts";

/** They are in the account's row, which every process reads anew with each change. Few keys have ten. */
const MAX_FINGERPRINTS = 16;

export function providerKeyFingerprints(value: string, pepper: Buffer): Fingerprint[] {
  return fingerprintsOf(value, pepper).slice(0, MAX_FINGERPRINTS);
}
