import { expect, test } from "vitest";
import { usableRoots } from "../../../../operator/model/usable-roots.ts";
import { rootsVersion } from "../../../../operator/xds/roots-version.ts";

const rootsOf = (names: readonly string[], unreadable: readonly string[] = []) => ({
  pem: "public",
  extra: { usable: names.map((name) => ({ name, pem: name })), unusable: unreadable.map((name) => ({ name, why: "no PEM" })) },
});

/** An Envoy that reads nothing with `bad` in it, asked until it accepts. */
function settle(names: readonly string[], unreadable: readonly string[] = []) {
  const rejected = new Map<string, string>();
  for (let rounds = 1; ; rounds++) {
    const found = usableRoots(rootsOf(names, unreadable), { rejected, mayProbe: true });
    const { pem, isProbe } = found.content;
    const isBad = pem.includes("bad");
    if (!isBad && isProbe !== true) return { ...found, pem, rounds, known: new Set(rejected.keys()) };
    const version = rootsVersion("roots/system", found.content);
    expect(rejected.has(version), "each is asked once").toBe(false);
    // Never without the public ones, other than in a probe.
    expect(pem.includes("public")).toBe(isProbe !== true);
    rejected.set(version, `roots/system: Failed to load ${isBad ? "trusted CA certificates" : "CRL"} from <inline>`);
  }
}

const some = (count: number, isBad: (at: number) => boolean) =>
  Array.from({ length: count }, (_, at) => `${isBad(at) ? "bad" : "good"}-${at}.`);

test("all are sent at first, in their order", () => {
  expect(settle(["a", "b"])).toMatchObject({ pem: "public\na\nb", rounds: 1, unusable: [], rejectedVersions: [] });
  expect(settle([])).toMatchObject({ pem: "public", rounds: 1 });
});

test.for(Array.from({ length: 32 }, (_, bits) => bits))(
  "of five, every set of bad ones is found, and nothing else (%i)",
  (bits) => {
    const names = some(5, (at) => (bits & (1 << at)) !== 0);
    const { pem, unusable, rejectedVersions, known } = settle(names);
    expect(pem.split("\n")).toEqual(["public", ...names.filter((name) => name.startsWith("good"))]);
    expect(unusable).toEqual(
      names
        .filter((name) => name.startsWith("bad"))
        .map((name) => ({ name, why: "Envoy rejects it: Failed to load trusted CA certificates from <inline>" })),
    );
    expect(new Set(rejectedVersions)).toEqual(known);
  },
);

test("bad ones among 200 are found in few rounds, and all of them in 401", () => {
  expect(settle(some(200, (at) => at === 99)).rounds).toBeLessThanOrEqual(18);
  expect(settle(some(200, (at) => at % 50 === 0)).rounds).toBeLessThanOrEqual(60);
  expect(settle(some(200, () => true)).rounds).toBe(401);
});

test("without an answer, those that are not known to be readable are left out", () => {
  const roots = rootsOf(["good", "bad"]);
  const whole = usableRoots(roots, { rejected: new Map(), mayProbe: true }).content;
  const rejected = new Map([[rootsVersion("roots/system", whole), "roots/system: no"]]);
  expect(usableRoots(roots, { rejected, mayProbe: true }).content).toMatchObject({ pem: "good\nbad", isProbe: true });
  expect(usableRoots(roots, { rejected, mayProbe: false }).content).toEqual({ kind: "roots", pem: "public" });
});

test("what could not be read is reported with them; public roots that are rejected are no one certificate's fault", () => {
  const { unusable } = settle(["bad-1"], ["certificate 1"]);
  expect(unusable.map(({ name }) => name)).toEqual(["certificate 1", "bad-1"]);
  const rejected = new Map([[rootsVersion("roots/system", { pem: "public" }), "roots/system: no"]]);
  expect(usableRoots(rootsOf([]), { rejected, mayProbe: true })).toMatchObject({ content: { pem: "public" }, unusable: [] });
});
