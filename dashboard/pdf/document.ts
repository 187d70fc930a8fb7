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

const HEADING = { size: SIZE.heading, weight: "bold" } as const;
const TEXT = { size: SIZE.text, weight: "regular" } as const;
/** Of a table. */
const HEAD: Look = { size: SIZE.small, color: COLOR.muted };

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
  for (const [index, block] of blocks.entries()) drawBlock(pen, block, blocks[index + 1]);
  drawFooters(pen, footer);
  pdf.end();
  return done;
}

function drawBlock(pen: Pen, block: Block, next: Block | undefined): void {
  switch (block.kind) {
    case "heading":
      return drawParagraph(pen, block.text, { ...HEADING, before: GAP, room: next === undefined ? 0 : heightOfStart(pen, next) });
    case "text":
      return drawParagraph(pen, block.text, { ...TEXT, before: 0, room: 0 });
    case "parties":
      return drawParties(pen, block.parties);
    case "facts":
      return drawFacts(pen, block.facts);
    case "table":
      return drawTable(pen, block.columns, block.rows);
  }
}

/** Of what a heading must not be parted from by the end of a page. */
function heightOfStart(pen: Pen, block: Block): number {
  if (block.kind === "text") return heightOf(pen, block.text, { x: 0, y: 0, width: pen.width, ...TEXT });
  return block.kind === "table" ? createTable(pen, block.columns, block.rows).startHeight : 0;
}

/** @param room needed on the same page, below the paragraph. */
function drawParagraph(
  pen: Pen,
  text: string,
  { before, room, ...look }: { size: number; weight: "regular" | "bold"; before: number; room: number },
): void {
  const ink = { x: MARGIN, y: 0, width: pen.width, ...look };
  pen.pdf.y += before;
  needRoom(pen, heightOf(pen, text, ink) + (room === 0 ? 0 : GAP / 2 + room));
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
  const { inksOf, startHeight, heightOfRow } = createTable(pen, columns, rows);
  const draw = (texts: readonly string[], look: Look) => {
    const top = pen.pdf.y + CELL;
    const ends = inksOf(texts, look).map((ink, index) => write(pen, texts[index] ?? "", { ...ink, y: top + ink.y }));
    pen.pdf.y = Math.max(...ends) + CELL;
    pen.pdf
      .moveTo(MARGIN, pen.pdf.y)
      .lineTo(MARGIN + pen.width, pen.pdf.y)
      .lineWidth(0.5)
      .stroke(COLOR.line);
  };
  const drawHead = () =>
    draw(
      columns.map(({ name }) => name),
      HEAD,
    );
  needRoom(pen, startHeight);
  drawHead();
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1];
    // A total is on the page of the last thing that it counts.
    const hasTotal = next !== undefined && next.isBold === true && index + 2 === rows.length;
    if (needRoom(pen, heightOfRow(row) + (hasTotal ? heightOfRow(next) : 0))) drawHead();
    draw(row.cells, lookOf(row));
  }
  pen.pdf.y += GAP / 2;
}

interface Table {
  /** Of a row of such texts, from its top. */
  inksOf(texts: readonly string[], look: Look): Ink[];
  heightOfRow(row: TableRow): number;
  /** Of the head and the first row. */
  startHeight: number;
}

function createTable(pen: Pen, columns: readonly Column[], rows: readonly TableRow[]): Table {
  const cells = layOutColumns(pen, columns, rows);
  const inksOf = (texts: readonly string[], { size, ...look }: Look) =>
    texts.map((_text, index) => {
      const { scale = 1, ...cell } = cells[index] ?? { x: MARGIN, width: pen.width };
      // Smaller letters stand on the same line.
      return { ...cell, ...look, size: size * scale, y: size * (1 - scale) };
    });
  const heightOfTexts = (texts: readonly string[], look: Look) =>
    Math.max(...inksOf(texts, look).map((ink, index) => ink.y + heightOf(pen, texts[index] ?? "", ink))) + 2 * CELL;
  const heightOfRow = (row: TableRow) => heightOfTexts(row.cells, lookOf(row));
  const [first] = rows;
  const headHeight = heightOfTexts(
    columns.map(({ name }) => name),
    HEAD,
  );
  return { inksOf, heightOfRow, startHeight: headHeight + (first === undefined ? 0 : heightOfRow(first)) };
}

function lookOf({ isBold = false }: TableRow): Look {
  return { size: SIZE.text, weight: isBold ? "bold" : "regular" };
}

interface Slot extends Pick<Ink, "x" | "width" | "align"> {
  /** Of the size of letters. */
  scale: number;
}

/**
 * A number is never broken. If one needs more than its column's share, columns of numbers get what they need, from the others
 * up to a third of theirs. Where that is not enough, all numbers of the table are set smaller.
 */
function layOutColumns(pen: Pen, columns: readonly Column[], rows: readonly TableRow[]): Slot[] {
  const shares = columns.reduce((sum, { share }) => sum + share, 0);
  const parts = columns.map(({ name, share, isNumber = false }, index) => {
    const gap = index === 0 ? 0 : isNumber ? GAP : CELL;
    const widths = rows.map((row) => roughWidth(pen, row.cells[index] ?? "", lookOf(row).weight ?? "regular") * SIZE.text);
    // Slightly more: a run of letters may be wider than the sum of their widths.
    const needed = 1.02 * Math.max(roughWidth(pen, name, "regular") * SIZE.small, ...widths);
    return { isNumber, gap, needed, width: (pen.width * share) / shares };
  });
  const numbers = parts.filter(({ isNumber }) => isNumber);
  const sharesFit = numbers.every(({ gap, needed, width }) => gap + needed <= width);
  const sumOf = (of: (part: (typeof parts)[number]) => number, some = numbers) => some.reduce((sum, part) => sum + of(part), 0);
  const wordsShare = pen.width - sumOf(({ width }) => width);
  const wordsWidth = Math.min(wordsShare, Math.max((wordsShare * 2) / 3, pen.width - sumOf(({ gap, needed }) => gap + needed)));
  const forNumbers = pen.width - wordsWidth - sumOf(({ gap }) => gap);
  const stretch = forNumbers / sumOf(({ needed }) => needed);
  let x = MARGIN;
  return parts.map(({ isNumber, gap, needed, width }) => {
    const fitted = isNumber ? gap + needed * stretch : (width * wordsWidth) / wordsShare;
    const taken = sharesFit ? width : fitted;
    const slot = { x: x + gap, width: taken - gap };
    x += taken;
    return isNumber
      ? { ...slot, align: "right", scale: sharesFit ? 1 : Math.min(1, stretch) }
      : { ...slot, align: "left", scale: 1 };
  });
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

/** A line may end after the hyphen of a compound word. */
const AFTER_HYPHEN = /(?<=[\p{L}\p{N}]-)(?=[\p{L}\p{N}])/u;

/** Lines that fit the width; longer words are broken, and so is text without spaces, such as Chinese. */
function breakLines(pen: Pen, text: string, { width, size, weight = "regular" }: Ink): Piece[][] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    let taken = 0;
    for (const word of (paragraph.match(/[^ ]+ *| +/g) ?? [""]).flatMap((each) => each.split(AFTER_HYPHEN))) {
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
