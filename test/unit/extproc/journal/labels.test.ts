import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { LABEL_BOUNDS, tagDimension } from "../../../../contract/labels.ts";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import { NO_DAMAGE, openTestJournal, startOf } from "../../../support/billing/journal.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

const customer = { accountId: "acme", keyId: "key" };
const LABELS = [
  { dimension: tagDimension("team"), value: "Wärme 猫" },
  { dimension: "end_user", value: "user-17" },
];

test("tags and end user survive a crash before and after the answer has ended (S47)", async () => {
  const { directory, journal } = await openTestJournal();
  const [ended, running, plain] = [{ labels: LABELS }, { labels: LABELS }, {}].map((changes) => settlementOf(customer, changes));
  if (ended === undefined || running === undefined || plain === undefined) throw new Error("There are three.");
  for (const settlement of [ended, running, plain]) journal.start(startOf(settlement));
  journal.end(ended);
  journal.end(plain);

  const { settlements, damage } = await readJournal(directory);
  expect(damage).toEqual(NO_DAMAGE);
  expect(settlements).toEqual([
    ended,
    plain,
    expect.objectContaining({ requestId: running.requestId, outcome: "lost", labels: LABELS }),
  ]);
});

test("a damaged record of labels loses them and no charge (S39)", async () => {
  const { directory, journal } = await openTestJournal();
  const settlement = settlementOf(customer, { labels: LABELS });
  journal.start(startOf(settlement));
  journal.end(settlement);
  const [name = ""] = (await readdir(directory)).filter((file) => file.endsWith(".journal"));
  const file = path.join(directory, name);
  const bytes = await readFile(file);
  bytes[bytes.indexOf('["labels"') + 12] = 0;
  await writeFile(file, bytes);

  const { settlements, damage } = await readJournal(directory);
  expect(damage.records).toBe(1);
  expect(settlements).toEqual([{ ...settlement, labels: undefined }]);
});

test("the most labels that a request may have fit into a record", async () => {
  const { directory, journal } = await openTestJournal();
  const labels = Array.from({ length: LABEL_BOUNDS.tagsOfRequest }, (_, index) => ({
    dimension: tagDimension(`tag ${index}`),
    value: '"'.repeat(LABEL_BOUNDS.value - 16),
  }));
  const settlement = settlementOf(customer, { labels });
  journal.start(startOf(settlement));
  journal.end(settlement);
  expect((await readJournal(directory)).settlements).toEqual([settlement]);
});
