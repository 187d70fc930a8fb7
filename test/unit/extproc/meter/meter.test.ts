import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countCharacters } from "../../../../extproc/meter/characters.ts";
import { createMeter, type Meter } from "../../../../extproc/meter/meter.ts";
import { chargeNanoUsd } from "../../../../ledger/money.ts";
import { PRICE } from "../../../support/billing/ledger.ts";

/** Our own count of the prompt, and the most that a report can say. */
const PROMPT = 1_000;
const MOST = 232_768;
const LIMIT = 300;
/** 400 tokens of text as our own count has it, and as many characters. */
const TEXT = "word ".repeat(320);

function meterOf(play: (meter: Meter) => void): Meter {
  const meter = createMeter(PROMPT, { tokens: MOST });
  play(meter);
  return meter;
}

/** The text in so many pieces. */
function pieces(count: number): string[] {
  const length = TEXT.length / count;
  return Array.from({ length: count }, (_, index) => TEXT.slice(index * length, (index + 1) * length));
}

describe("reports that do not cover the delivered tokens (S38)", () => {
  const prompt = { inputTokens: 900 };
  const cases: [string, (meter: Meter) => void, { outputTokens: number; anomalies: string[] }][] = [
    [
      "usage only in the first chunk",
      (meter) => {
        meter.report({ ...prompt, outputTokens: 0 });
        meter.produced(TEXT);
      },
      { outputTokens: 400, anomalies: ["stale"] },
    ],
    [
      "usage in the middle only",
      (meter) => {
        const [first = "", second = ""] = pieces(2);
        meter.produced(first);
        meter.report({ ...prompt, outputTokens: 180 });
        meter.produced(second);
      },
      { outputTokens: 380, anomalies: ["stale"] },
    ],
    [
      "falling numbers",
      (meter) => {
        for (const [index, piece] of pieces(4).entries()) {
          meter.produced(piece);
          meter.report({ ...prompt, outputTokens: 400 - index * 100 });
        }
      },
      { outputTokens: 400, anomalies: ["falling"] },
    ],
    [
      "zeros at the end",
      (meter) => {
        meter.produced(TEXT);
        meter.report({ ...prompt, outputTokens: 350 });
        meter.report({ inputTokens: 0, outputTokens: 0 });
      },
      { outputTokens: 400, anomalies: ["falling", "short"] },
    ],
    [
      "a tenth at the end",
      (meter) => {
        meter.produced(TEXT);
        meter.report({ ...prompt, outputTokens: 40 });
      },
      { outputTokens: 400, anomalies: ["short"] },
    ],
  ];

  test.for(cases)("%s", ([, play, { outputTokens, anomalies }]) => {
    const meter = meterOf(play);
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 900, outputTokens }, isEstimated: true });
    expect(meter.anomalies()).toEqual(anomalies);
  });

  test("a prompt of no tokens is our own count", () => {
    const meter = meterOf((each) => each.report({ inputTokens: 0, outputTokens: 5 }));
    expect(meter.final()).toMatchObject({ usage: { inputTokens: PROMPT, outputTokens: 5 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["empty"]);
  });

  test("a prompt that is reported late is accepted", () => {
    const meter = meterOf((each) => {
      each.report({ inputTokens: 0 });
      each.report({ inputTokens: 200, cachedInputTokens: 800, outputTokens: 5 });
    });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 200, cachedInputTokens: 800 }, isEstimated: false });
    expect(meter.anomalies()).toEqual([]);
  });
});

describe("output beyond the limit that was sent (S30, S38)", () => {
  const limited = (play: (meter: Meter) => void) => {
    const meter = createMeter(PROMPT, { tokens: MOST, outputTokens: 300 });
    play(meter);
    return meter;
  };

  test("is charged up to the limit, and flagged", () => {
    const meter = limited((each) => each.report({ inputTokens: 900, outputTokens: 100_000, reasoningTokens: 90_000 }));
    expect(meter.final()).toMatchObject({
      usage: { inputTokens: 900, outputTokens: 300, reasoningTokens: 300 },
      isEstimated: true,
    });
    expect(meter.anomalies()).toEqual(["over_limit"]);
  });

  test("is charged as far as it was delivered", () => {
    const meter = limited((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens: 100_000 });
    });
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 400 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["over_limit"]);
  });

  test("is charged by the report if that is less than our own count of the delivered output", () => {
    const meter = limited((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens: 310 });
    });
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 310 }, isEstimated: true });
  });

  test("a report that equals the limit is plausible", () => {
    const meter = limited((each) => each.report({ inputTokens: 900, outputTokens: 300 }));
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 300 }, isEstimated: false });
    expect(meter.anomalies()).toEqual([]);
  });
});

describe("parts that exceed their total (S38)", () => {
  test("a prompt with more cached tokens than tokens is our own count", () => {
    const meter = meterOf((each) => each.report({ inputTokens: -600, cachedInputTokens: 700, outputTokens: 5 }));
    expect(meter.final()).toMatchObject({ usage: { inputTokens: PROMPT, cachedInputTokens: 0 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });

  test.for([500, -1, 0.5])("with %d tokens of reasoning the output is charged by the higher count", (reasoningTokens) => {
    const meter = meterOf((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens: 350, reasoningTokens });
    });
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 400, reasoningTokens: 0 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });
});

describe("parts that a server writes as something other than a count (S38)", () => {
  test.for(["cachedInputTokens", "cacheWriteTokens"] as const)("%s count as none, and the prompt's total is charged", (name) => {
    const meter = meterOf((each) => each.report({ inputTokens: 900, [name]: Number.NaN, outputTokens: 5 }));
    expect(meter.final()).toMatchObject({
      usage: { inputTokens: 900, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5 },
      isEstimated: true,
    });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });

  test.for(["cachedInputTokens", "cacheWriteTokens"] as const)("%s without a total leave our own count of the prompt", (name) => {
    const meter = meterOf((each) => each.report({ [name]: Number.NaN, outputTokens: 5 }));
    expect(meter.final()).toMatchObject({ usage: { inputTokens: PROMPT, cachedInputTokens: 0 }, isEstimated: true });
  });

  test("reasoning counts as none, and the output's total is charged", () => {
    const meter = meterOf((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens: 350, reasoningTokens: Number.NaN });
    });
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 350, reasoningTokens: 0 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });
});

describe("plausible reports", () => {
  test("running totals, each covering what came with it, are charged as they are", () => {
    const meter = meterOf((each) => {
      for (const [index, piece] of pieces(8).entries()) {
        each.produced(piece);
        each.report({ inputTokens: 900, outputTokens: 40 * (index + 1) });
      }
    });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 900, outputTokens: 320 }, isEstimated: false });
    expect(meter.anomalies()).toEqual([]);
  });

  test("hidden reasoning is charged", () => {
    const meter = meterOf((each) => each.report({ inputTokens: 900, outputTokens: 5_000, reasoningTokens: 5_000 }));
    expect(meter.final()).toMatchObject({ usage: { outputTokens: 5_000, reasoningTokens: 5_000 }, isEstimated: false });
  });

  // o200k_base makes one token of up to 128 blanks.
  test.for([" ".repeat(8_192), "\n".repeat(8_192), "─".repeat(4_000), "-".repeat(80).concat("\n").repeat(100)])(
    "a long run of one character has few tokens: %#",
    (text) => {
      const meter = meterOf((each) => {
        each.produced(text);
        each.report({ inputTokens: 900, outputTokens: Math.ceil(text.length / 100) });
      });
      expect(meter.final().isEstimated).toBe(false);
      expect(meter.anomalies()).toEqual([]);
    },
  );
});

describe("impossible numbers", () => {
  const impossible = [1e15, 9e15, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e300, -1, 0.5, Number.NaN, Infinity, MOST + 1];

  test.for(impossible)("%d tokens of output are our own count", (outputTokens) => {
    const meter = meterOf((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens });
    });
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 900, outputTokens: 400 }, isEstimated: true });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });

  test.for(["inputTokens", "cachedInputTokens", "cacheWriteTokens"] as const)("so is a prompt with such %s", (name) => {
    for (const tokens of impossible.filter((each) => name === "inputTokens" || !Number.isNaN(each))) {
      const meter = meterOf((each) => each.report({ inputTokens: 10, [name]: tokens, outputTokens: 5 }));
      expect(meter.final()).toMatchObject({
        usage: { inputTokens: PROMPT, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5 },
        isEstimated: true,
      });
    }
  });

  test("an earlier plausible report stays valid", () => {
    const meter = meterOf((each) => {
      each.produced(TEXT);
      each.report({ inputTokens: 900, outputTokens: 300 });
      each.report({ inputTokens: -1, outputTokens: 1e15 });
    });
    expect(meter.final()).toEqual({
      usage: { inputTokens: 900, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 300, reasoningTokens: 0 },
      isEstimated: false,
    });
    expect(meter.anomalies()).toEqual(["impossible"]);
  });
});

type Step = { kind: "text"; text: string } | { kind: "report"; usage: Record<string, number> };

const number = fc.oneof(
  fc.nat(500),
  fc.double(),
  fc.integer(),
  fc.constantFrom(0, -1, 1e15, 9e15, 2 ** 53, 1e300, Number.NaN, Infinity, MOST, MOST + 1),
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 400 }).map((text): Step => ({ kind: "text", text })),
    fc
      .record(
        {
          inputTokens: number,
          cachedInputTokens: number,
          cacheWriteTokens: number,
          outputTokens: number,
          reasoningTokens: number,
        },
        { requiredKeys: [] },
      )
      .map((usage): Step => ({ kind: "report", usage })),
  ),
  { maxLength: 12 },
);

function run(meter: Meter, played: readonly Step[]): { bytes: number; characters: number } {
  let bytes = 0;
  let characters = 0;
  for (const step of played) {
    if (step.kind === "report") meter.report(step.usage);
    else {
      meter.produced(step.text);
      bytes += Buffer.byteLength(step.text);
      characters += countCharacters(step.text);
    }
  }
  return { bytes, characters };
}

describe("any report, at any position, in any order", () => {
  test("the charge is valid, bounded, and covers the delivered tokens (S28, S38)", () => {
    fc.assert(
      fc.property(steps, (played) => {
        const meter = createMeter(PROMPT, { tokens: MOST, outputTokens: LIMIT });
        const { bytes, characters } = run(meter, played);
        const { usage } = meter.final();
        for (const tokens of Object.values(usage)) expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
        expect(chargeNanoUsd(usage, PRICE)).toBeGreaterThanOrEqual(0n);
        const prompt = usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens;
        expect(prompt).toBeGreaterThan(0);
        expect(prompt).toBeLessThanOrEqual(MOST);
        expect(usage.outputTokens).toBeLessThanOrEqual(MOST);
        expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
        // docs/billing.md: not less than a token for each 32 characters, a run counted once.
        expect(usage.outputTokens).toBeGreaterThanOrEqual(Math.min(MOST, Math.ceil(characters / 32)));
        // Nor more than the limit and what was delivered.
        expect(usage.outputTokens).toBeLessThanOrEqual(LIMIT + Math.ceil(bytes / 4) + 1);
      }),
      { numRuns: 500 },
    );
  });

  test("without a usable report it is our own count, and flagged", () => {
    fc.assert(
      fc.property(steps, (played) => {
        const meter = createMeter(PROMPT, { tokens: MOST });
        const { bytes } = run(
          meter,
          played.filter(({ kind }) => kind === "text"),
        );
        meter.report({ outputTokens: -1 });
        expect(meter.final()).toMatchObject({
          usage: { inputTokens: PROMPT, outputTokens: Math.ceil(bytes / 4) },
          isEstimated: true,
        });
      }),
    );
  });

  test("text after a report costs our own count, whatever was reported before it", () => {
    fc.assert(
      fc.property(steps, fc.nat(300), fc.string({ minLength: 1 }), (played, outputTokens, text) => {
        const meter = createMeter(PROMPT, { tokens: MOST });
        run(meter, played);
        meter.report({ outputTokens });
        const before = meter.final().usage.outputTokens;
        meter.produced(text);
        const after = meter.final();
        expect(after.usage.outputTokens).toBeGreaterThanOrEqual(Math.min(before, MOST));
        expect(after.isEstimated).toBe(true);
      }),
    );
  });
});

describe("a prompt that shrinks (S38)", () => {
  const report = (...prompts: [number, number][]) =>
    meterOf((meter) => {
      for (const [inputTokens, cachedInputTokens] of prompts) meter.report({ inputTokens, cachedInputTokens, outputTokens: 0 });
    });

  test.for<[string, [number, number][], { inputTokens: number; cachedInputTokens: number }]>([
    [
      "next to nothing",
      [
        [900, 0],
        [1, 0],
      ],
      { inputTokens: 900, cachedInputTokens: 0 },
    ],
    [
      "nothing but its cached part",
      [
        [900, 10],
        [0, 10],
      ],
      { inputTokens: 900, cachedInputTokens: 10 },
    ],
    [
      "far less than it was, where that was far too much",
      [
        [90_000, 0],
        [1, 0],
      ],
      { inputTokens: PROMPT, cachedInputTokens: 0 },
    ],
  ])("to %s is charged by our own count, at most by the earlier report, and flagged", ([, prompts, expected]) => {
    const meter = report(...prompts);
    expect(meter.final()).toMatchObject({ usage: expected, isEstimated: true });
    expect(meter.anomalies()).toEqual(["falling"]);
  });

  test("as a corrected estimate is charged as last reported", () => {
    const meter = report([900, 0], [400, 100]);
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 400, cachedInputTokens: 100 }, isEstimated: false });
    expect(meter.anomalies()).toEqual([]);
  });
});
