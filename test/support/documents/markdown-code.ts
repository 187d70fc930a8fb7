/** The fenced code blocks of one language, in order. */
export function codeBlocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, name, code = ""]) => (name === language ? [code] : []));
}
