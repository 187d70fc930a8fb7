import { Command, Option } from "commander";

export interface BenchOptions {
  peers: readonly Peer[];
  /** Of extproc; each is measured as a gateway of its own. */
  workers: readonly number[];
  rounds: number;
  /** Of the requests of each workload, in a round. */
  share: number;
  only: RegExp;
  /** The results go into docs/performance.md. */
  isKept: boolean;
}

const PEERS = ["portkey", "litellm", "litellm-rs", "smg"] as const;
export type Peer = (typeof PEERS)[number];

/** Reads the command line; `--help` and mistakes end the process, as commander does. */
export function parseOptions(words: readonly string[]): BenchOptions {
  const { peers, workers, rounds, quick, only, keep } = new Command("npm run bench --")
    .description("Measures this gateway, Envoy alone and other gateways under the same load, in turns.")
    .addOption(
      new Option("--peers <names>", `other gateways to measure, separated by commas: ${PEERS.join(", ")}`).default("portkey"),
    )
    .addOption(new Option("--workers <counts>", "numbers of extproc processes to measure with, such as 1,2,4").default("1"))
    .option("--rounds <count>", "measurements of each; the median is reported")
    .option("--only <pattern>", 'measures only matching cases, such as "JSON, 1 KB.*chat → chat"', "")
    .option("--quick", "fewer requests, fewer rounds", false)
    .option("--keep", "writes the results into docs/performance.md", false)
    .allowExcessArguments(false)
    .parse(words, { from: "user" })
    .opts<{ peers: string; workers: string; rounds?: string; only: string; quick: boolean; keep: boolean }>();
  const names = peers.split(",").filter((name) => name !== "" && name !== "none");
  return {
    peers: names.map(parsePeer),
    workers: workers.split(",").map(Number),
    rounds: Number(rounds ?? (quick ? 2 : 5)),
    share: quick ? 0.4 : 1,
    only: new RegExp(only),
    isKept: keep,
  };
}

function parsePeer(name: string): Peer {
  const peer = PEERS.find((each) => each === name);
  if (peer === undefined) throw new Error(`--peers: there is no peer ${name}; choose from ${PEERS.join(", ")}.`);
  return peer;
}
