/**
 * `npm start --port 1` gives --port to npm, which keeps it in its environment and reports nothing (or only a short warning).
 * @param flags as the command line accepts them, without dashes.
 * @returns one sentence with the intended line; undefined if npm consumed none of them.
 */
export function explainSwallowedFlags(
  flags: readonly string[],
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const taken = flags.flatMap((flag) => {
    const value = environment[`npm_config_${flag.replaceAll("-", "_")}`];
    if (value === undefined || words.includes(`--${flag}`)) return [];
    // If npm consumed the flag alone, its value is the first remaining word.
    const given = value === "true" || value === "" ? (words[0] ?? "…") : value;
    return [{ flag, shown: flag === "upstream-key" ? "…" : given }];
  });
  if (taken.length === 0) return undefined;
  const names = taken.map(({ flag }) => `--${flag}`).join(" and ");
  const line = taken.map(({ flag, shown }) => ` --${flag} ${shown}`).join("");
  return `npm consumed ${names}: flags of the gateway follow two dashes, as in npm start --${line}`;
}
