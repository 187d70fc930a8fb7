import { expect, test } from "vitest";
import { encodeAccess, keyLimitsSchema, storedKeyLimitsSchema, UNBOUND } from "../../../contract/key-access.ts";
import { limitsSchema } from "../../../contract/limits.ts";

const ACCESS = { allowedAddresses: ["203.0.113.0/24"], allowedOrigins: ["https://app.example.com"] };
const stored = { requestsPerMinute: 60, ...encodeAccess(ACCESS) };

test("where a key may be used is read as it was written, next to its limits", () => {
  expect(keyLimitsSchema.parse(stored)).toEqual({ limits: { requestsPerMinute: 60 }, ...ACCESS });
  expect(encodeAccess(UNBOUND)).toEqual({});
  expect(keyLimitsSchema.parse({})).toEqual({ limits: {}, ...UNBOUND });
});

test("versions that know only limits cannot read a bound key, and so refuse it (S50, S53)", () => {
  expect(limitsSchema.safeParse(stored).success).toBe(false);
});

test.for([{ allowedAddresses: [] }, { allowedAddresses: "203.0.113.7" }, { allowedOrigins: [] }, { allowedHours: ["8-17"] }])(
  "%j is not served in part; pages name what they cannot show",
  (unknown) => {
    expect(keyLimitsSchema.safeParse(unknown).success).toBe(false);
    expect(storedKeyLimitsSchema.parse({ ...unknown, requestsPerMinute: 60 })).toEqual({
      limits: { requestsPerMinute: 60 },
      ...UNBOUND,
      unknownLimits: Object.keys(unknown),
    });
  },
);
