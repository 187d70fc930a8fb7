import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/repository-files.ts";

/** Words of this house that a newcomer would have to learn, and what the field calls them. */
const HOUSE_WORDS: readonly [pattern: RegExp, instead: string][] = [
  // Two variables of the environment keep their names: people have set them.
  [/\bMOST_(?!BODY_MIB|OPEN_REQUESTS)\w+/, "MAX_"],
  [/\b\w*[dD]oorbell\w*/, "wake-up (runtime/wait.ts)"],
  [/\b\w*Keeper\b|\b\w+-keeper\b/, "what it does: renewal, watch, pool"],
  [/\b(?:create|start|plan)(?:Place|Way)\b/, "slot, dispatch"],
  [/\b[fF]ate[sA-Z]?\b/, "outcome"],
];

test("names in the source are the field's", async () => {
  const names = (await repositoryFiles("**/*.ts")).filter((name) => !name.startsWith("runtime/gen/"));
  expect(names).toContain("extproc/main.ts");
  const found = await Promise.all(
    names
      .filter((name) => name !== "test/unit/docs/names.test.ts")
      .map(async (name) => {
        const text = await readFile(path.join(REPOSITORY, name), "utf8");
        return HOUSE_WORDS.flatMap(([pattern, instead]) => {
          const word = pattern.exec(text)?.[0];
          return word === undefined ? [] : [`${name}: ${word}; say ${instead}`];
        });
      }),
  );
  expect(found.flat()).toEqual([]);
});
