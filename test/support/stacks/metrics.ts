/** Unlabelled samples of a process's /metrics, by name. */
export async function scrape(adminUrl: string): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${adminUrl}/metrics`);
  const samples = new Map<string, number>();
  for (const line of (await response.text()).split("\n")) {
    const match = /^(\w+) (\S+)$/.exec(line);
    if (match?.[1] !== undefined) samples.set(match[1], Number(match[2]));
  }
  return samples;
}
