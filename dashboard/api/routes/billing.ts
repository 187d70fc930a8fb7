import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { readBillingDetails, setBillingDetails } from "../../../ledger/billing/billing-details.ts";
import { monthSchema } from "../../../ledger/billing/month.ts";
import { CREDIT_KINDS } from "../../../ledger/credit/entry-list.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import type { AppDeps } from "../../app-deps.ts";
import { parseBillingDetails } from "../../billing/details-form.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { showSums, sumsShape } from "../schemas/usage.ts";
import { moment, showMoment, showMoney, usd } from "../schemas/values.ts";

const tags = ["Credit"];
const details = z
  .object({
    name: z.string().meta({ description: "Company or person" }),
    address: z.string().meta({ description: "Up to six lines, separated by newlines; empty: none" }),
    tax_id: z.string().meta({ description: "Empty: none", examples: ["DE123456789"] }),
  })
  .meta({ id: "BillingDetails" });
const statement = z
  .object({
    month: z.string().meta({ description: "UTC", examples: ["2026-11"] }),
    opening_balance: usd,
    closing_balance: usd,
    credits: z
      .array(z.object({ kind: orOther(CREDIT_KINDS), amount: usd }))
      .meta({ description: "Credits and deductions other than usage, by kind; deductions are negative" }),
    entries: z
      .array(z.object({ kind: orOther(CREDIT_KINDS), amount: usd, note: z.string().nullable(), created_at: moment }))
      .meta({ description: "The first 200 of them, oldest first; `GET /credit/entries` lists all" }),
    usage: z.array(z.object({ model: z.string(), ...sumsShape })).meta({ description: "The highest amount first" }),
    usage_total: z.object(sumsShape),
    own_keys: z.array(z.object({ provider: z.string(), requests: z.int(), amount: usd })).meta({
      description: "The part of the usage that was sent with the account's own provider keys: its fees",
    }),
  })
  .meta({ id: "Statement" });

function explain(error: unknown): never {
  const [issue] = error instanceof z.ZodError ? error.issues : [];
  if (issue === undefined) throw error;
  const field = issue.path.join(".");
  throw new GatewayError("invalid_request", issue.message, { field: field === "taxId" ? "tax_id" : field, cause: error });
}

export function billingApi(api: Api, { database }: AppDeps): void {
  async function show(accountId: string) {
    const { name = "", address = "", taxId = "" } = (await readBillingDetails(database, accountId)) ?? {};
    return { name, address, tax_id: taxId };
  }

  api.get(
    "/billing/details",
    {
      schema: {
        tags,
        summary: "Get the billing details on receipts and statements",
        description: "All fields are empty until an owner sets them; documents then name the account.",
        response: { 200: details, ...failures },
      },
    },
    async (request) => show(callerOf(request).accountId),
  );

  api.put(
    "/billing/details",
    {
      schema: {
        tags,
        summary: "Replace the billing details",
        description: "Requires the owner role.",
        body: z.strictObject({
          name: z.string().max(200),
          address: z.string().max(1000).default(""),
          tax_id: z.string().max(100).default(""),
        }),
        response: { 200: details, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "setBilling");
      const { name, address, tax_id: taxId } = request.body;
      const wanted = await parseBillingDetails({ name, address, taxId }).catch(explain);
      await setBillingDetails(database, caller, wanted);
      return show(caller.accountId);
    },
  );

  api.get(
    "/billing/statements/:month",
    {
      schema: {
        tags,
        summary: "Get the statement of a month",
        description: "A request counts in the UTC month in which it began. The dashboard offers it as a PDF.",
        params: z.strictObject({ month: monthSchema }),
        response: { 200: statement, ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const read = await readStatement(database, { accountId, month: request.params.month });
      return {
        month: read.month,
        opening_balance: showMoney(read.openingNanoUsd),
        closing_balance: showMoney(read.closingNanoUsd),
        credits: read.credits.map((credit) => ({ kind: credit.kind, amount: showMoney(credit.amountNanoUsd) })),
        entries: read.entries.map((entry) => ({
          kind: entry.kind,
          amount: showMoney(entry.amountNanoUsd),
          note: entry.note,
          created_at: showMoment(entry.createdAt),
        })),
        usage: read.usage.map(({ model, ...sums }) => ({ model, ...showSums(sums) })),
        usage_total: showSums(read.usageTotal),
        own_keys: read.providerKeys.map(({ provider, requests, chargeNanoUsd }) => ({
          provider,
          requests,
          amount: showMoney(chargeNanoUsd),
        })),
      };
    },
  );
}
