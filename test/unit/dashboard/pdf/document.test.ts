import { expect, test } from "vitest";
import { renderDocument, type Block } from "../../../../dashboard/pdf/document.ts";
import { positionedTextOfPdf, type PositionedText } from "../../../support/dashboard/pdf-text.ts";

/** How documents look: where each run of letters stands on its page. */
const MADE_AT = new Date("2026-11-28T00:00:00Z");
const COLUMNS = [
  { name: "Model", share: 4 },
  { name: "Requests", share: 1.6, isNumber: true },
  { name: "Amount (USD)", share: 3, isNumber: true },
];

async function layOut(blocks: readonly Block[]): Promise<PositionedText[]> {
  return positionedTextOfPdf(await renderDocument({ title: "Statement", footer: "The footer", madeAt: MADE_AT, blocks }));
}

function rowsOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({ cells: [`model-${index}`, "1", "0.000004000"] }));
}

test("a heading and a table's head are on the page of the first row, and a total on that of the last one", async () => {
  const total = { cells: ["Total", "1,234,567", "1,234,567.890000001"], isBold: true };
  for (let rows = 20; rows < 30; rows++) {
    const texts = await layOut([
      { kind: "heading", text: "Before" },
      { kind: "table", columns: COLUMNS, rows: [...rowsOf(rows), total] },
      { kind: "heading", text: "Credits" },
      { kind: "table", columns: [{ name: "Note", share: 1 }], rows: [{ cells: ["a note"] }] },
      { kind: "heading", text: "Words" },
      { kind: "text", text: "the end" },
    ]);
    const pageOf = (text: string) => [rows, texts.find((each) => each.text === text)?.page];
    expect(pageOf("Total")).toEqual(pageOf(`model-${rows - 1}`));
    for (const text of ["Credits", "Note"]) expect(pageOf(text)).toEqual(pageOf("a note"));
    expect(pageOf("Words")).toEqual(pageOf("the end"));
    const isFooter = ({ text }: PositionedText) => text === "The footer" || text.startsWith("Page ");
    const footer = Math.max(...texts.filter(isFooter).map(({ y }) => y));
    expect(texts.filter((each) => !isFooter(each) && each.y < footer + 10)).toEqual([]);
  }
});

test("numbers of a column have one size and end at one place, however long one is", async () => {
  for (const [longest, isSmaller] of [
    ["1,234,567.890000001", false],
    ["1,234,567,890,123,456,789,012,345,678,901,234,567,890,123,456,789.000000001", true],
  ] as const) {
    const rows = [{ cells: ["a", "5", "0.000004000"] }, { cells: ["b", "1,234", longest], isBold: true }];
    const texts = await layOut([{ kind: "table", columns: COLUMNS, rows }]);
    const found = (text: string) => {
      const each = texts.find((one) => one.text === text);
      return { right: each?.right.toFixed(0), size: each?.size.toFixed(3) };
    };
    expect(found("0.000004000")).toEqual(found(longest));
    expect(found("5")).toEqual(found("1,234"));
    expect(found("5").size).toBe(found(longest).size);
    expect(Number(found("5").size) < 9.5).toBe(isSmaller);
    // Between the margins of a page of A4.
    expect(Number(found(longest).right)).toBeLessThanOrEqual(540);
  }
});

test("a word that is too long for its line is broken after a hyphen, if it has one", async () => {
  const id = "donaudampfschifffahrtsgesellschaft-sued-ost-2020fc7b";
  const texts = await layOut([
    {
      kind: "parties",
      parties: [
        { label: "From", lines: [id] },
        { label: "To", lines: [`Account ${id}`] },
      ],
    },
  ]);
  expect(texts.map(({ text }) => text)).toEqual(
    expect.arrayContaining(["donaudampfschifffahrtsgesellschaft-sued-", "ost-2020fc7b"]),
  );
});
