import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AnyValueSchema, KeyValueSchema } from "../../runtime/gen/otlp/traces_pb.js";

/** A `bigint` is an integer, a `number` is not; what is undefined is left out. */
type AttributeValue = string | boolean | bigint | number | readonly string[] | undefined;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export function encodeAttributes(attributes: Attributes): MessageInitShape<typeof KeyValueSchema>[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: { value: oneOf(value) } }],
  );
}

function oneOf(value: Exclude<AttributeValue, undefined>): NonNullable<MessageInitShape<typeof AnyValueSchema>["value"]> {
  if (typeof value === "string") return { case: "stringValue", value };
  if (typeof value === "boolean") return { case: "boolValue", value };
  if (typeof value === "bigint") return { case: "intValue", value };
  if (typeof value === "number") return { case: "doubleValue", value };
  return { case: "arrayValue", value: { values: value.map((each) => ({ value: oneOf(each) })) } };
}

const NANO_PER_USD = 1_000_000_000;

/** For graphs: the ledger has the exact amount. */
export function usdOf(nanoUsd: bigint): number {
  return Number(nanoUsd) / NANO_PER_USD;
}
