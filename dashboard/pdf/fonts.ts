import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Font, FontCollection } from "fontkit";

/*
 * The fonts of documents, by what they cover: DejaVu Sans has Latin, Greek, Cyrillic, Armenian and Georgian letters, Noto
 * Sans CJK has Chinese and Japanese ones (docs/decisions/0061). Both are embedded as subsets.
 */
const HAN_FILE = "../fonts/NotoSansHans-Regular.otf";

/** Scripts set from left to right, letter by letter: others need a layout engine that PDFKit lacks. */
const SCRIPTS =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Common}\p{Script=Inherited}]$/u;

export type FontName = "regular" | "bold" | "han";

export interface Fonts {
  /** Bytes of each file. */
  files: Readonly<Record<FontName, Buffer>>;
  /** Characters that no font has, without duplicates. */
  missingFrom(text: string): string[];
  /** A text in runs, each covered by one font; characters that none covers become "?". */
  split(text: string, weight: "regular" | "bold"): { font: FontName; text: string }[];
}

let loaded: Promise<Fonts> | undefined;

/** Read when the first document is made: 10 MB, and a library, that most processes never need. */
export function loadFonts(): Promise<Fonts> {
  return (loaded ??= readFonts());
}

async function readFonts(): Promise<Fonts> {
  const hanFile = path.join(path.dirname(fileURLToPath(import.meta.resolve("@embedpdf/fonts-sc"))), HAN_FILE);
  const [{ create }, regular, bold, han] = await Promise.all([
    import("fontkit"),
    readFile(fileURLToPath(import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"))),
    readFile(fileURLToPath(import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf"))),
    readFile(hanFile),
  ]);
  const covers = { western: coverageOf(create(regular)), han: coverageOf(create(han)) };

  function fontOf(character: string, weight: "regular" | "bold"): FontName | undefined {
    if (!SCRIPTS.test(character)) return undefined;
    if (covers.western(character)) return weight;
    return covers.han(character) ? "han" : undefined;
  }

  return {
    files: { regular, bold, han },
    missingFrom: (text) => [...new Set(text)].filter((each) => each !== "\n" && fontOf(each, "regular") === undefined),
    split(text, weight) {
      const pieces: { font: FontName; text: string }[] = [];
      for (const character of text) {
        const font = fontOf(character, weight);
        const shown = font === undefined ? "?" : character;
        const last = pieces.at(-1);
        // A space belongs to the preceding run.
        if (last !== undefined && (last.font === (font ?? weight) || character === " ")) last.text += shown;
        else pieces.push({ font: font ?? weight, text: shown });
      }
      return pieces;
    },
  };
}

function coverageOf(font: Font | FontCollection): (character: string) => boolean {
  const characters = new Set("characterSet" in font ? font.characterSet : []);
  return (character) => characters.has(character.codePointAt(0) ?? 0);
}
