/** The fields of a page for scripts and forms, as a browser reads them. */

/** Value of a field of a form. */
export function fieldOf(page: string, name: string): string {
  return unescape(new RegExp(`name="${name}"\\s+value="([^"]*)"`).exec(page)?.[1] ?? "");
}

/** The `data-…` attribute of the first element that has it. */
export function dataOf(page: string, name: string): string {
  return unescape(new RegExp(`data-${name}="([^"]*)"`).exec(page)?.[1] ?? "");
}

function unescape(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
