/** For comparisons: a text in which any key of this service is replaced by the placeholder. */
export function withoutKey(text: string): string {
  return text.replaceAll(/sk-mg-[0-9A-Za-z]+/g, "@key@");
}
