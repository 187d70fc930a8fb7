import { TypeOverrides } from "pg";

const INT8 = 20;
const DATE = 1082;

/**
 * How columns become values, on our own connections only: bigint as `bigint` (money, S28), date as its text, because
 * a UTC day must not pass through the process's time zone; timestamptz as Date and the rest as pg does it.
 */
export function columnTypes(): TypeOverrides {
  const types = new TypeOverrides();
  types.setTypeParser(INT8, parseInt8);
  types.setTypeParser(DATE, asText);
  return types;
}

function parseInt8(text: unknown): bigint {
  return BigInt(String(text));
}

function asText(text: unknown): string {
  return String(text);
}
