import { Stripe } from "stripe";
import { expect, test } from "vitest";
import { readStripeNotice } from "../../../../dashboard/payments/stripe-notice.ts";

const SECRET = "whsec_test";

function read(event: unknown, { secret = SECRET, ageSeconds = 0 } = {}) {
  const payload = JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
  return readStripeNotice(Buffer.from(payload), { signature, secret: SECRET });
}

const session = { id: "cs_1", payment_status: "paid", amount_total: 2050, currency: "usd", payment_intent: "pi_1" };
const event = (type: string, object: unknown) => ({ type, data: { object } });
const paid = event("checkout.session.completed", session);

test("a payment is reported in nano-USD, with the id that refunds will refer to", async () => {
  expect(await read(paid)).toEqual({
    kind: "paid",
    providerPaymentId: "cs_1",
    providerChargeId: "pi_1",
    amountNanoUsd: 20_500_000_000n,
  });
});

test("an event signed with another secret, not at all or too long ago is rejected", async () => {
  const refused = expect.objectContaining({ code: "invalid_request", status: 400 });
  await expect(read(paid, { secret: "whsec_other" })).rejects.toThrow(refused);
  await expect(read(paid, { ageSeconds: 400 })).rejects.toThrow(refused);
  const body = Buffer.from(JSON.stringify(paid));
  await expect(readStripeNotice(body, { signature: undefined, secret: SECRET })).rejects.toThrow(refused);
  await expect(readStripeNotice(body, { signature: "t=1,v1=00", secret: SECRET })).rejects.toThrow(refused);
});

test("a changed body does not match its signature", async () => {
  const payload = JSON.stringify(paid);
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET });
  const changed = Buffer.from(payload.replace("2050", "9950"));
  await expect(readStripeNotice(changed, { signature, secret: SECRET })).rejects.toThrow("signature");
});

test("an empty secret accepts nothing", async () => {
  const payload = JSON.stringify(paid);
  await expect(readStripeNotice(Buffer.from(payload), { signature: "t=1,v1=00", secret: "" })).rejects.toThrow("needs a secret");
});

test.for([
  ["a transfer that is not there yet", event("checkout.session.completed", { ...session, payment_status: "unpaid" })],
  [
    "a refund that is pending",
    event("refund.created", { id: "re_1", status: "pending", amount: 5, currency: "usd", payment_intent: "pi_1" }),
  ],
  [
    "an inquiry",
    event("charge.dispute.created", {
      id: "dp_1",
      status: "warning_needs_response",
      amount: 5,
      currency: "usd",
      payment_intent: "pi_1",
    }),
  ],
  ["news of something else", event("customer.created", { id: "cus_1" })],
] as const)("%s changes no credit", async ([, sent]) => {
  expect(await read(sent)).toBeNull();
});

test("refunds and disputes refer to the payment's other id", async () => {
  const object = { amount: 500, currency: "usd", payment_intent: "pi_1" };
  expect(await read(event("refund.updated", { ...object, id: "re_1", status: "succeeded" }))).toEqual({
    kind: "refunded",
    providerPaymentId: "pi_1",
    refundId: "re_1",
    amountNanoUsd: 5_000_000_000n,
  });
  for (const [type, status] of [
    ["refund.failed", "failed"],
    ["refund.updated", "canceled"],
  ] as const)
    expect(await read(event(type, { ...object, id: "re_1", status }))).toEqual({
      kind: "refund_failed",
      providerPaymentId: "pi_1",
      refundId: "re_1",
    });
  expect(await read(event("charge.dispute.closed", { ...object, id: "dp_1", status: "won" }))).toMatchObject({
    kind: "disputed",
    status: "won",
  });
  expect(await read(event("charge.dispute.created", { ...object, id: "dp_1", status: "needs_response" }))).toMatchObject({
    status: "open",
  });
});

test("another currency is not treated as dollars", async () => {
  await expect(read(event("checkout.session.completed", { ...session, currency: "jpy" }))).rejects.toThrow("could not be read");
});
