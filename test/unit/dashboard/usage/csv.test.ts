import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { streamCsv } from "../../../../dashboard/usage/csv.ts";
import type { Cell } from "../../../../dashboard/usage/table-file.ts";

async function write(...portions: Cell[][][]): Promise<string> {
  async function* all(): AsyncGenerator<Cell[][]> {
    yield* portions;
  }
  return text(streamCsv({ columns: ["name", "charge_usd"], portions: all() }));
}

test("a file has its header, its rows in order, and amounts to the last decimal place", async () => {
  const rows = await write(
    [[{ text: "laptop" }, { number: "0.000090000" }]],
    [],
    [[{ text: "a,b" }, { number: "-12.500000001" }]],
  );
  expect(rows).toBe('name,charge_usd\r\nlaptop,0.000090000\r\n"a,b",-12.500000001\r\n');
});

test("quotes and line breaks in a name stay in its cell", async () => {
  expect(await write([[{ text: 'say "hi"\nthere' }, { number: "1" }]])).toBe('name,charge_usd\r\n"say ""hi""\nthere",1\r\n');
});

test.for([["=1+1"], ["+1"], ["-1"], ["@SUM(A1)"], ["\t=1"], ["\r=1"], [" =1"], ["\uFF1D1"]])(
  "a spreadsheet treats %j as text",
  async ([name = ""]) => {
    expect(await write([[{ text: name }, { number: "1" }]])).toContain(`'${name}`);
  },
);

test("a failure half-way breaks the file off instead of ending it as if it were complete", async () => {
  async function* failing(): AsyncGenerator<Cell[][]> {
    yield [[{ text: "first" }, { number: "1" }]];
    throw new Error("the database is away");
  }
  await expect(text(streamCsv({ columns: ["name", "charge_usd"], portions: failing() }))).rejects.toThrow("the database is away");
});
