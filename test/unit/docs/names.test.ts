import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** Words of this house that a newcomer would have to learn, and what the field calls them. Names are matched in kebab case. */
const HOUSE_WORDS: readonly (readonly [name: RegExp, instead: string])[] = [
  [/(^|-)most-[a-z]/, "max"],
  [/(^|-)least-[a-z]/, "min"],
  [/(^|-)places?$|(^|-)placed-|^(create|start|plan|make|find)-place/, "position, index, location, slot"],
  [/(^|-)(?<!-(?:in|by|under)-)ways?$|^way-/, "path, method, direction, case"],
  [/(^|-)keepers?($|-)/, "what it does: renewal, watch, pool"],
  [/(^|-)fates?($|-)/, "outcome"],
  [/(^|-)doorbells?($|-)/, "wake-up (runtime/wait.ts)"],
  [/(^|-)told($|-)|^tells?($|-)|^(is|are|was)-told/, "reported, notified, recorded, sent"],
  [/(^|-)said($|-)|^says?-/, "content, text, message, reported"],
  [/(^|-)go(es)?-on($|-)/, "continue, advance"],
  [/(^|-)give-up($|-)/, "abandon, expire, time out"],
];

/** Names that others chose. */
const OTHERS = new Set(["leastRequestLbConfig"]);

test("names in the source are the field's", async () => {
  const names = (await repositoryFiles("**/*.{ts,cjs,js}")).filter(
    (name) => !/^runtime\/gen\/|^clients\/install\/program\.js$|^dashboard\/assets\/vendor\//.test(name),
  );
  expect(names).toContain("extproc/main.ts");
  const found = await Promise.all(
    names.map(async (name) => {
      const files = houseWords([path.basename(name).replace(/(\.test)?\.\w+$/, "")]);
      const identifiers = houseWords(identifiersIn(name, await readFile(path.join(REPOSITORY, name), "utf8")));
      return [...files, ...identifiers].map((word) => `${name}: ${word}`);
    }),
  );
  expect(found.flat()).toEqual([]);
});

test("a house word is found in a name of any case, and not in prose or in another word", () => {
  const text = "// told\nconst MOST_BYTES = 1, atLeast = 2, replace = 3, runway = 4;\nfunction tellOwners(place: ItemPlace) {}";
  expect(houseWords(identifiersIn("a.ts", text))).toEqual([
    "ItemPlace; write: position, index, location, slot",
    "MOST_BYTES; write: max",
    "place; write: position, index, location, slot",
    "tellOwners; write: reported, notified, recorded, sent",
  ]);
});

function identifiersIn(name: string, text: string): string[] {
  const identifiers = new Set<string>();
  const note = ({ name: found }: { name: string }) => void identifiers.add(found);
  new Visitor({ Identifier: note, PrivateIdentifier: note }).visit(parseSync(name, text).program);
  return [...identifiers].toSorted();
}

function houseWords(names: readonly string[]): string[] {
  return names
    .filter((name) => !OTHERS.has(name))
    .flatMap((name) => {
      const kebab = name
        .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
        .replaceAll("_", "-")
        .toLowerCase();
      const [, instead] = HOUSE_WORDS.find(([pattern]) => pattern.test(kebab)) ?? [];
      return instead === undefined ? [] : [`${name}; write: ${instead}`];
    });
}
