import { describe, expect, test } from "vitest";
import type { ProviderKeys } from "../../../../contract/provider-key.ts";
import { createKnownCredentials, type Fingerprints } from "../../../../extproc/world/known-credentials.ts";
import type { Fingerprint } from "../../../../runtime/credential-fingerprint.ts";

/** Whose credentials are looked for in whose answers (S59). */
const GATEWAYS: Fingerprint = { length: 20, hash: "gateway" };

function keyOf(...fingerprints: Fingerprint[]): ProviderKeys {
  return [{ id: "k1", provider: "example", origin: "https://api.example.com", state: "active", fingerprints }];
}

function hashesIn(known: Fingerprints): string[] {
  return [...known.values()].flatMap((hashes) => [...hashes]).toSorted();
}

describe("known credentials", () => {
  test("an account's own keys count in its own answers alone, with the gateway's", () => {
    const known = createKnownCredentials();
    known.learnKeys("ann", keyOf({ length: 9, hash: "anns" }));
    known.learn([GATEWAYS]);
    expect(hashesIn(known.of("ann"))).toEqual(["anns", "gateway"]);
    expect(hashesIn(known.of("eve"))).toEqual(["gateway"]);
    expect(hashesIn(known.of(undefined))).toEqual(["gateway"]);
  });

  test("those that were replaced are still known", () => {
    const known = createKnownCredentials();
    for (const hash of ["first", "second"]) known.learnKeys("ann", keyOf({ length: 9, hash }));
    known.learn([GATEWAYS]);
    known.learn([{ length: 21, hash: "next" }]);
    expect(hashesIn(known.of("ann"))).toEqual(["first", "gateway", "next", "second"]);
  });

  test("no number of keys displaces the gateway's", () => {
    const known = createKnownCredentials();
    known.learn([GATEWAYS]);
    for (let round = 0; round < 20; round++) {
      const keys = Array.from({ length: 1_000 }, (_, each) => ({ length: 8 + each, hash: `${round}/${each}` }));
      known.learnKeys("eve", keyOf(...keys));
    }
    expect(hashesIn(known.of("ann"))).toEqual(["gateway"]);
    expect(hashesIn(known.of("eve"))).toContain("gateway");
    expect(hashesIn(known.of("eve")).length).toBeLessThanOrEqual(1_001);
  });
});
