import { extractText, getDocumentProxy } from "unpdf";

/** The visible text of the document, page by page, with white space as single spaces. */
export async function textOfPdf(file: Buffer): Promise<string> {
  const document = await getDocumentProxy(new Uint8Array(file));
  const { text } = await extractText(document, { mergePages: true });
  return text.replaceAll(/\s+/g, " ");
}
