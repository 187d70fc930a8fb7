import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { arrayText, type ArrayElement } from "../../../ledger/postgres/array-text.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.array(fc.option(value), { maxLength: 20 });
const text = fc.oneof(
  fc.string({ unit: "binary" }).map((each) => each.replaceAll("\0", "")),
  fc.string({ unit: fc.constantFrom('"', "\\", ",", "{", "}", " ", "\n", "a", "é") }),
  fc.constantFrom("NULL", "null", "", " a ", "{}"),
);

const CASES: Readonly<Record<string, fc.Arbitrary<ArrayElement[]>>> = {
  text: orNull(text),
  bigint: orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  integer: orNull(fc.integer()),
  boolean: orNull(fc.boolean()),
  // From the first year of Postgres, 4713 before Christ, to the last one of JavaScript.
  timestamptz: orNull(fc.date({ min: new Date(-210_000_000_000_000), noInvalidDate: true })),
};

test.for(Object.entries(CASES))(
  "the text of a %s array is the array that Postgres gets of the values",
  async ([type, values]) => {
    const { database } = await postgres.empty();
    await fc.assert(
      fc.asyncProperty(values, async (elements) => {
        const [row] = await database.query({
          text: `SELECT $1::${type}[] IS NOT DISTINCT FROM $2::${type}[] AS "isSame"`,
          values: [arrayText(elements), elements],
          row: z.strictObject({ isSame: z.boolean() }),
        });
        expect(row?.isSame, arrayText(elements)).toBe(true);
      }),
      { numRuns: 100 },
    );
  },
);

test("a Date that is no time is an error", () => {
  expect(() => arrayText([new Date(NaN)])).toThrow(RangeError);
});
