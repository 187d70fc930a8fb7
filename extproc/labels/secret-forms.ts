/** Beginnings of what providers, code hosts and clouds give out as secrets, and tokens that carry their rights in themselves. */
const FORMS = [
  /^bearer\s/i,
  /^(sk|rk|pk|mgmt|gsk|hf|glpat|xai|pplx|nvapi)[-_][\w-]{16,}/,
  /^(gh[pousr]|github_pat)_\w{16,}/,
  /^(AKIA|ASIA)[A-Z0-9]{12,}/,
  /^AIza[\w-]{20,}/,
  /^xox[abeoprs]-[\w-]{10,}/,
  /^eyJ[\w-]{8,}\.[\w-]+\.[\w-]*$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** Is this a credential that was put into the wrong place? Reports would show it to everybody in the account. */
export function looksLikeSecret(value: string): boolean {
  return FORMS.some((form) => form.test(value));
}
