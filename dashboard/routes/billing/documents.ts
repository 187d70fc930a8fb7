import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { findAccount } from "../../../ledger/accounts/accounts.ts";
import { readBillingDetails } from "../../../ledger/billing/billing-details.ts";
import { monthOf, monthSchema } from "../../../ledger/billing/month.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { readPayment } from "../../../ledger/payments/payments.ts";
import type { AppDeps } from "../../app-deps.ts";
import type { Parties } from "../../billing/parties.ts";
import { receiptDocument } from "../../billing/receipt.ts";
import { statementDocument } from "../../billing/statement.ts";
import { renderDocument, type DocumentText } from "../../pdf/document.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";

type MonthRequest = FastifyRequest<{ Params: { month: string } }>;
type PaymentRequest = FastifyRequest<{ Params: { id: string } }>;

/** Making one takes CPU time: they count as downloads, of which an account has few at once. */
const config = { isDownload: true };

/** Receipts and monthly statements as PDF. */
export function billingDocumentRoutes(app: FastifyInstance, { database, publicBaseUrl, operator }: AppDeps): void {
  async function partiesOf({ membership }: Member): Promise<Parties> {
    const { accountId: id, accountName: name } = membership;
    const details = await readBillingDetails(database, id);
    return { seller: operator?.seller, publicBaseUrl, details, account: { id, name } };
  }

  async function send(reply: FastifyReply, document: DocumentText, name: string): Promise<FastifyReply> {
    const file = await renderDocument(document);
    return reply.type("application/pdf").header("content-disposition", `attachment; filename="${name}.pdf"`).send(file);
  }

  app.get("/dashboard/billing/statements/:month", { config }, async (request: MonthRequest, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const month = monthSchema.safeParse(request.params.month).data;
    const account = await findAccount(database, accountId);
    if (
      month === undefined ||
      account === undefined ||
      month > monthOf(Date.now()) ||
      month < monthOf(account.createdAt.getTime())
    )
      throw new GatewayError("not_found", "This account has no statement for that month.");
    const [statement, parties] = await Promise.all([readStatement(database, { accountId, month }), partiesOf(visitor)]);
    return send(reply, statementDocument(statement, parties, new Date()), `statement-${month}`);
  });

  app.get("/dashboard/billing/receipts/:id", { config }, async (request: PaymentRequest, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const { id } = request.params;
    const payment = z.uuid().safeParse(id).success ? await readPayment(database, { accountId, id }) : undefined;
    if (payment === undefined || payment.paidAt === null)
      throw new GatewayError("not_found", "This account has no such receipt. Only completed payments have one.");
    return send(reply, receiptDocument(payment, payment.paidAt, await partiesOf(visitor)), `receipt-${id}`);
  });
}
