/** The fields of a page for scripts and forms, as a browser reads them. */

/** Value of a field of a form. */
export function fieldOf(page: string, name: string): string {
  return unescape(new RegExp(`name="${name}"\\s+value="([^"]*)"`).exec(page)?.[1] ?? "");
}

/** What a list of choices sends if nobody changes it: what is selected, or else its first. */
export function chosenOf(page: string, name: string): string {
  const [, list = ""] = new RegExp(`<select[^>]*\\sname="${name}"[^>]*>([^]*?)</select>`).exec(page) ?? [];
  const options = [...list.matchAll(/<option value="([^"]*)"([^>]*)>/g)].map(([, value = "", rest = ""]) => ({ value, rest }));
  const chosen = options.find(({ rest }) => rest.includes("selected")) ?? options[0];
  if (chosen === undefined) throw new Error(`The page has no list of choices ${name}.`);
  return unescape(chosen.value);
}

/** The `data-…` attribute of the first element that has it. */
export function dataOf(page: string, name: string): string {
  return unescape(new RegExp(`data-${name}="([^"]*)"`).exec(page)?.[1] ?? "");
}

function unescape(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
