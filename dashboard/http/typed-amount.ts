/**
 * An amount as people type it, or copy it from a page: "$1,234.50" is "1234.50". Commas that are not between thousands stay,
 * and are refused: "1,5" may mean one and a half.
 */
export function typedAmount(text: string): string {
  return typedNumber(text.replace(/^([-−]?)\$ ?/, "$1"));
}

/** The same for a number without a currency: "1,000,000" is "1000000". */
export function typedNumber(text: string): string {
  return /^[-−]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(text) ? text.replaceAll(",", "") : text;
}
