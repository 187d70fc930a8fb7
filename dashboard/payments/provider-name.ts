/** Display names of payment providers, as on receipts. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["stripe", "Stripe"],
  ["test", "Test payment"],
]);

/** Providers of newer versions are shown by their own name. */
export function paymentProviderName(provider: string): string {
  return NAMES.get(provider) ?? provider;
}
