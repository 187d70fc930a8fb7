import { buffer } from "node:stream/consumers";
import { loadFonts, type FontName, type Fonts } from "./fonts.ts";

/** A block of a document, from top to bottom. */
export type Block =
  | { kind: "heading"; text: string }
  | { kind: "text"; text: string }
  /** Sender and recipient, side by side. */
  | { kind: "parties"; parties: readonly Party[] }
  | { kind: "facts"; facts: readonly Fact[] }
  | { kind: "table"; columns: readonly Column[]; rows: readonly TableRow[] };

export interface Party {
  label: string;
  /** The first one is emphasized. */
  lines: readonly string[];
}

export interface Fact {
  name: string;
  value: string;
}

interface Column {
  name: string;
  /** Share of the table's width, relative to all columns. */
  share: number;
  isNumber?: boolean;
}

export interface TableRow {
  cells: readonly string[];
  /** Of totals. */
  isBold?: boolean;
}

export interface DocumentText {
  title: string;
  blocks: readonly Block[];
  /** At the end of each page, before its number. */
  footer: string;
  madeAt: Date;
}

const MARGIN = 56;
const FOOTER_HEIGHT = 28;
const SIZE = { title: 20, heading: 12, text: 9.5, small: 8 } as const;
const COLOR = { text: "#111827", muted: "#5b6472", line: "#d5d9e0" } as const;
const GAP = 12;
const CELL = 4;

interface Pen {
  pdf: PDFKit.PDFDocument;
  fonts: Fonts;
  /** Between the margins. */
  width: number;
  bottom: number;
  /** Of each character at size 1, by weight: a document uses few characters. */
  widths: Map<string, number>;
}

interface Ink {
  x: number;
  y: number;
  width: number;
  size: number;
  weight?: "regular" | "bold";
  color?: string;
  align?: "left" | "right";
}

type Look = Pick<Ink, "size" | "weight" | "color">;

/** A PDF of A4 pages, in the document's order: nothing in it runs or loads anything. */
export async function renderDocument({ title, blocks, footer, madeAt }: DocumentText): Promise<Buffer> {
  const [fonts, { default: Pdf }] = await Promise.all([loadFonts(), import("pdfkit")]);
  const pdf = new Pdf({
    size: "A4",
    margin: MARGIN,
    lang: "en",
    displayTitle: true,
    bufferPages: true,
    info: { Title: title, Producer: "Model Gateway", Creator: "Model Gateway", CreationDate: madeAt, ModDate: madeAt },
  });
  const done = buffer(pdf);
  for (const name of ["regular", "bold", "han"] as const) pdf.registerFont(name, fonts.files[name]);
  const pen: Pen = {
    pdf,
    fonts,
    width: pdf.page.width - 2 * MARGIN,
    bottom: pdf.page.height - MARGIN - FOOTER_HEIGHT,
    widths: new Map(),
  };
  pdf.y = MARGIN;
  pdf.y = write(pen, title, { x: MARGIN, y: pdf.y, width: pen.width, size: SIZE.title, weight: "bold" }) + GAP;
  for (const block of blocks) drawBlock(pen, block);
  drawFooters(pen, footer);
  pdf.end();
  return done;
}

function drawBlock(pen: Pen, block: Block): void {
  switch (block.kind) {
    case "heading":
      return drawParagraph(pen, block.text, { size: SIZE.heading, weight: "bold", before: GAP });
    case "text":
      return drawParagraph(pen, block.text, { size: SIZE.text, weight: "regular", before: 0 });
    case "parties":
      return drawParties(pen, block.parties);
    case "facts":
      return drawFacts(pen, block.facts);
    case "table":
      return drawTable(pen, block.columns, block.rows);
  }
}

function drawParagraph(
  pen: Pen,
  text: string,
  { size, weight, before }: { size: number; weight: "regular" | "bold"; before: number },
): void {
  const ink = { x: MARGIN, y: 0, width: pen.width, size, weight };
  pen.pdf.y += before;
  needRoom(pen, heightOf(pen, text, ink));
  pen.pdf.y = write(pen, text, { ...ink, y: pen.pdf.y }) + GAP / 2;
}

function drawParties(pen: Pen, parties: readonly Party[]): void {
  const width = (pen.width - GAP * (parties.length - 1)) / parties.length;
  const top = pen.pdf.y;
  const ends = parties.map(({ label, lines }, index) => {
    const x = MARGIN + index * (width + GAP);
    let y = write(pen, label, { x, y: top, width, size: SIZE.small, color: COLOR.muted }) + 2;
    for (const [line, text] of lines.entries())
      y = write(pen, text, { x, y, width, size: SIZE.text, weight: line === 0 ? "bold" : "regular" });
    return y;
  });
  pen.pdf.y = Math.max(...ends) + GAP;
}

function drawFacts(pen: Pen, facts: readonly Fact[]): void {
  const nameWidth = pen.width * 0.3;
  const valueWidth = pen.width - nameWidth;
  for (const { name, value } of facts) {
    const ink = { y: 0, x: MARGIN + nameWidth, width: valueWidth, size: SIZE.text };
    needRoom(pen, heightOf(pen, value, ink) + CELL);
    const { y } = pen.pdf;
    write(pen, name, { x: MARGIN, y, width: nameWidth - GAP, size: SIZE.text, color: COLOR.muted });
    pen.pdf.y = write(pen, value, { ...ink, y }) + CELL;
  }
  pen.pdf.y += GAP / 2;
}

function drawTable(pen: Pen, columns: readonly Column[], rows: readonly TableRow[]): void {
  const shares = columns.reduce((sum, { share }) => sum + share, 0);
  const cells = columns.map(({ share, isNumber = false }, index) => {
    const before = columns.slice(0, index).reduce((sum, column) => sum + column.share, 0);
    return {
      x: MARGIN + (pen.width * before) / shares + (index === 0 ? 0 : CELL),
      width: (pen.width * share) / shares - (index === 0 ? 0 : CELL),
      align: isNumber ? ("right" as const) : ("left" as const),
    };
  });
  const draw = (texts: readonly string[], look: Look) => {
    const inks = cells.map((cell, index) => ({ ...cell, ...lookOf(cell, texts[index] ?? "", look), y: pen.pdf.y + CELL }));
    const ends = inks.map((ink, index) => write(pen, texts[index] ?? "", ink));
    pen.pdf.y = Math.max(...ends) + CELL;
    pen.pdf
      .moveTo(MARGIN, pen.pdf.y)
      .lineTo(MARGIN + pen.width, pen.pdf.y)
      .lineWidth(0.5)
      .stroke(COLOR.line);
  };
  /** A number is never broken: one that is too long is set smaller. */
  function lookOf({ align, width }: { align: string; width: number }, text: string, look: Look): Look {
    const needed = align === "right" ? roughWidth(pen, text, look.weight ?? "regular") * look.size : 0;
    // Slightly less: a run of letters may be wider than the sum of their widths.
    return needed <= width ? look : { ...look, size: (look.size * width * 0.98) / needed };
  }
  const drawHead = () =>
    draw(
      columns.map(({ name }) => name),
      { size: SIZE.small, color: COLOR.muted },
    );
  drawHead();
  for (const { cells: texts, isBold = false } of rows) {
    const look = { size: SIZE.text, weight: isBold ? ("bold" as const) : ("regular" as const) };
    const height = Math.max(
      ...cells.map((cell, index) => {
        const text = texts[index] ?? "";
        return heightOf(pen, text, { ...cell, ...lookOf(cell, text, look), y: 0 });
      }),
    );
    if (needRoom(pen, height + 2 * CELL)) drawHead();
    draw(texts, look);
  }
  pen.pdf.y += GAP / 2;
}

/** @returns whether a new page began. */
function needRoom(pen: Pen, height: number): boolean {
  if (pen.pdf.y + height <= pen.bottom) return false;
  pen.pdf.addPage();
  pen.pdf.y = MARGIN;
  return true;
}

function drawFooters(pen: Pen, footer: string): void {
  const { start, count } = pen.pdf.bufferedPageRange();
  for (let page = start; page < start + count; page++) {
    pen.pdf.switchToPage(page);
    const ink = { x: MARGIN, y: pen.bottom + GAP, width: pen.width, size: SIZE.small, color: COLOR.muted };
    write(pen, footer, { ...ink, width: pen.width * 0.8 });
    write(pen, `Page ${page - start + 1} of ${count}`, { ...ink, align: "right" });
  }
}

/** A piece of a line in one font. */
interface Piece {
  font: FontName;
  text: string;
  width: number;
}

/** @returns the position where the text ends. */
function write(pen: Pen, text: string, ink: Ink): number {
  const { pdf } = pen;
  const { x, y, width, size, color = COLOR.text, align = "left" } = ink;
  const height = lineHeight(size);
  const lines = breakLines(pen, text, ink);
  for (const [index, pieces] of lines.entries()) {
    let at = align === "right" ? x + width - widthOf(pieces) : x;
    for (const { font, text: words, width: taken } of pieces) {
      pdf.font(font).fontSize(size).fillColor(color);
      // On one baseline regardless of the font: their ascents differ.
      pdf.text(words, at, y + index * height + size, { lineBreak: false, baseline: "alphabetic" });
      at += taken;
    }
  }
  return y + Math.max(1, lines.length) * height;
}

function heightOf(pen: Pen, text: string, ink: Ink): number {
  return Math.max(1, breakLines(pen, text, ink).length) * lineHeight(ink.size);
}

function lineHeight(size: number): number {
  return size * 1.4;
}

function widthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { width }) => sum + width, 0);
}

/** Lines that fit the width; longer words are broken, and so is text without spaces, such as Chinese. */
function breakLines(pen: Pen, text: string, { width, size, weight = "regular" }: Ink): Piece[][] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    let taken = 0;
    for (const word of paragraph.match(/[^ ]+ *| +/g) ?? [""]) {
      const wordWidth = roughWidth(pen, word.trimEnd(), weight) * size;
      if (line !== "" && taken + wordWidth > width) {
        lines.push(line);
        [line, taken] = ["", 0];
      }
      for (const character of word) {
        const step = roughWidth(pen, character, weight) * size;
        if (line !== "" && character !== " " && taken + step > width) {
          lines.push(line);
          [line, taken] = ["", 0];
        }
        line += character;
        taken += step;
      }
    }
    lines.push(line);
  }
  return lines.map((line) =>
    pen.fonts.split(line.trimEnd(), weight).map(({ font, text: words }) => {
      const taken = pen.pdf.font(font).fontSize(size).widthOfString(words);
      return { font, text: words, width: taken };
    }),
  );
}

/** At size 1, without kerning: laying out a text again for each possible break takes too long. */
function roughWidth(pen: Pen, text: string, weight: "regular" | "bold"): number {
  let sum = 0;
  for (const character of text) {
    const key = `${weight} ${character}`;
    const known = pen.widths.get(key);
    if (known !== undefined) {
      sum += known;
      continue;
    }
    const [piece] = pen.fonts.split(character, weight);
    const width = piece === undefined ? 0 : pen.pdf.font(piece.font).fontSize(1).widthOfString(piece.text);
    pen.widths.set(key, width);
    sum += width;
  }
  return sum;
}
