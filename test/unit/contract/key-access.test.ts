import { expect, test } from "vitest";
import { encodeAccess, keyLimitsSchema, storedKeyLimitsSchema } from "../../../contract/key-access.ts";
import { limitsSchema } from "../../../contract/limits.ts";

const stored = { requestsPerMinute: 60, ...encodeAccess({ allowedAddresses: ["203.0.113.0/24"] }) };

test("where a key may be used is read as it was written, next to its limits", () => {
  expect(keyLimitsSchema.parse(stored)).toEqual({ limits: { requestsPerMinute: 60 }, allowedAddresses: ["203.0.113.0/24"] });
  expect(keyLimitsSchema.parse({ ...encodeAccess({ allowedAddresses: null }) })).toEqual({ limits: {}, allowedAddresses: null });
});

test("versions that know only limits cannot read a bound key, and so refuse it (S50)", () => {
  expect(limitsSchema.safeParse(stored).success).toBe(false);
});

test.for([{ allowedAddresses: [] }, { allowedAddresses: "203.0.113.7" }, { allowedOrigins: ["https://a.example"] }])(
  "%j is not served in part; pages name what they cannot show",
  (unknown) => {
    expect(keyLimitsSchema.safeParse(unknown).success).toBe(false);
    expect(storedKeyLimitsSchema.parse({ ...unknown, requestsPerMinute: 60 })).toEqual({
      limits: { requestsPerMinute: 60 },
      allowedAddresses: null,
      unknownLimits: Object.keys(unknown),
    });
  },
);
