import { promptTokensOf } from "../../contract/usage.ts";
import type { Statement } from "../../ledger/billing/statement.ts";
import { daysOfMonth, monthOf } from "../../ledger/billing/month.ts";
import type { Block, DocumentText, TableRow } from "../pdf/document.ts";
import { ENTRY_KINDS } from "../views/entry-kinds.ts";
import { unitColumns } from "../views/unit-columns.ts";
import { exactAmounts } from "./amounts.ts";
import { partiesOf, type Parties } from "./parties.ts";
import { counted } from "../counted.ts";

const AMOUNT = { name: "Amount (USD)", share: 3, isNumber: true } as const;

/** A month of an account as a document: balances, credits, and usage by model. */
export function statementDocument(statement: Statement, parties: Parties, now: Date): DocumentText {
  const { month } = statement;
  const name = monthName(month);
  const { fromDay, toDay } = daysOfMonth(month);
  const isOver = month < monthOf(now.getTime());
  const facts = [
    { name: "Period", value: `${fromDay} to ${toDay} (UTC)${isOver ? "" : ", not over yet"}` },
    { name: "Issued", value: `${now.toISOString().slice(0, 16).replace("T", " ")} UTC` },
  ];
  return {
    title: `Statement, ${name}`,
    madeAt: now,
    footer: `Statement ${month} · Account ${parties.account.id}`,
    blocks: [
      { kind: "parties", parties: partiesOf(parties) },
      { kind: "facts", facts },
      { kind: "heading", text: "Summary" },
      summary(statement),
      { kind: "heading", text: "Usage by model" },
      ...usage(statement),
      ...providerKeys(statement),
      { kind: "heading", text: "Credits and deductions" },
      ...credits(statement),
      {
        kind: "text",
        text: "Amounts are exact. A request counts in the month in which it began (UTC). This statement is not a tax invoice.",
      },
    ],
  };
}

export function monthName(month: string): string {
  return new Date(`${month}-01`).toLocaleDateString("en-US", { month: "long", year: "numeric", timeZone: "UTC" });
}

function summary({ openingNanoUsd, closingNanoUsd, credits: totals, usageTotal }: Statement): Block {
  const lines: [string, bigint][] = [
    ["Opening balance", openingNanoUsd],
    ...totals.map(({ kind, amountNanoUsd }): [string, bigint] => [ENTRY_KINDS[kind], amountNanoUsd]),
    [`Usage, ${counted(usageTotal.requests, "request")}`, -usageTotal.chargeNanoUsd],
    ["Closing balance", closingNanoUsd],
  ];
  const amounts = exactAmounts(lines.map(([, amount]) => amount));
  const rows = lines.map(([words], index): TableRow => {
    const isBold = index === 0 || index === lines.length - 1;
    return { cells: [words, amounts[index] ?? ""], isBold };
  });
  return { kind: "table", columns: [{ name: "", share: 4 }, AMOUNT], rows };
}

function usage({ usage: models, usageTotal }: Statement): Block[] {
  if (models.length === 0) return [{ kind: "text", text: "No requests in this month." }];
  const sums = [...models, { ...usageTotal, model: "Total" }];
  const amounts = exactAmounts(sums.map(({ chargeNanoUsd }) => chargeNanoUsd));
  const units = unitColumns([usageTotal]);
  const rows = sums.map(({ model, ...sum }, index) => {
    const used = [sum.requests, promptTokensOf(sum), sum.outputTokens, ...units.map(({ of }) => of(sum))];
    const counts = used.map((count) => count.toLocaleString("en-US"));
    return { cells: [model, ...counts, amounts[index] ?? ""], isBold: index === models.length };
  });
  const columns = [
    { name: "Model", share: 4 },
    { name: "Requests", share: 1.6, isNumber: true },
    { name: "Input tokens", share: 2.2, isNumber: true },
    { name: "Output tokens", share: 2.2, isNumber: true },
    ...units.map(({ head }) => ({ name: head, share: 2.2, isNumber: true })),
    AMOUNT,
  ];
  return [{ kind: "table", columns, rows }];
}

/** A part of the table above it. */
function providerKeys({ providerKeys: parts }: Statement): Block[] {
  if (parts.length === 0) return [];
  const amounts = exactAmounts(parts.map(({ chargeNanoUsd }) => chargeNanoUsd));
  const rows = parts.map(({ provider, requests }, index) => ({
    cells: [provider, requests.toLocaleString("en-US"), amounts[index] ?? ""],
  }));
  const columns = [
    { name: "Provider", share: 4 },
    { name: "Requests", share: 1.6, isNumber: true },
    { ...AMOUNT, name: "Fee (USD)" },
  ];
  return [
    { kind: "heading", text: "Sent with your own keys, included above" },
    { kind: "table", columns, rows },
  ];
}

function credits({ entries, entryCount }: Statement): Block[] {
  if (entries.length === 0) return [{ kind: "text", text: "No credits or deductions in this month." }];
  const amounts = exactAmounts(entries.map(({ amountNanoUsd }) => amountNanoUsd));
  const rows = entries.map(({ kind, note, createdAt }, index) => ({
    cells: [createdAt.toISOString().slice(0, 10), ENTRY_KINDS[kind], note ?? "", amounts[index] ?? ""],
  }));
  const columns = [{ name: "Date", share: 1.7 }, { name: "Type", share: 2.5 }, { name: "Note", share: 4 }, AMOUNT];
  const more = entryCount - entries.length;
  const rest = `The first ${entries.length} of ${entryCount} are listed. The summary counts all of them.`;
  return [{ kind: "table", columns, rows }, ...(more > 0 ? [{ kind: "text" as const, text: rest }] : [])];
}
