import { expect, test } from "vitest";
import { typedAmount } from "../../../../dashboard/http/typed-amount.ts";

test("an amount is read as pages write it, with a dollar sign and commas between thousands, and nothing else is guessed", () => {
  const read: Record<string, string> = {
    "20": "20",
    "$20.00": "20.00",
    "$ 20": "20",
    "1,234,567.89": "1234567.89",
    "$1,234.5": "1234.5",
    "-$1,234": "-1234",
    "−5": "−5",
    "1,5": "1,5",
    "1.234,56": "1.234,56",
    "12,34,567": "12,34,567",
    ",123": ",123",
    "1,234.567,890": "1,234.567,890",
    "20 USD": "20 USD",
    "": "",
  };
  for (const [text, amount] of Object.entries(read)) expect([text, typedAmount(text)]).toEqual([text, amount]);
});
