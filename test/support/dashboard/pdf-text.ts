import { extractText, getDocumentProxy } from "unpdf";
import * as z from "zod";

/** The visible text of the document, page by page, with white space as single spaces. */
export async function textOfPdf(file: Buffer): Promise<string> {
  const document = await getDocumentProxy(new Uint8Array(file));
  const { text } = await extractText(document, { mergePages: true });
  return text.replaceAll(/\s+/g, " ");
}

/** A run of letters, as it stands on its page; lengths are in points, from the left and from the bottom. */
export interface PositionedText {
  page: number;
  text: string;
  right: number;
  y: number;
  size: number;
}

export async function positionedTextOfPdf(file: Buffer): Promise<PositionedText[]> {
  const document = await getDocumentProxy(new Uint8Array(file));
  const texts: PositionedText[] = [];
  for (let page = 1; page <= document.numPages; page++) {
    const { items } = await (await document.getPage(page)).getTextContent();
    for (const item of items) {
      if (!("str" in item) || item.str.trim() === "") continue;
      const [size, , , , x, y] = z.tuple([z.number()], z.number()).parse(item.transform);
      texts.push({ page, text: item.str, right: (x ?? 0) + item.width, y: y ?? 0, size });
    }
  }
  return texts;
}
