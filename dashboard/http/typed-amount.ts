/**
 * An amount as people type it, or copy it from a page: "$1,234.50" is "1234.50". Commas that are not between thousands stay,
 * and are refused: "1,5" may mean one and a half.
 */
export function typedAmount(text: string): string {
  const amount = text.replace(/^([-−]?)\$ ?/, "$1");
  return /^[-−]?\d{1,3}(,\d{3})+(\.\d*)?$/.test(amount) ? amount.replaceAll(",", "") : amount;
}
