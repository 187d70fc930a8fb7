/** What a page of ours holds for scripts and forms, as a browser reads it. */

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
