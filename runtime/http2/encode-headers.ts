const STATUS_200 = 0x88;
const MOST_BYTES = 126;

/**
 * A block of headers in HPACK (RFC 7541) that needs no table: each name and value as it is. For the few short ones that a
 * gRPC server sends.
 * @throws Error for what is long, or no ASCII.
 */
export function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(headers).map(([name, value]) =>
    name === ":status" && value === "200"
      ? Buffer.from([STATUS_200])
      : // A literal without indexing, and with a name of its own.
        Buffer.concat([Buffer.from([0]), encodeText(name), encodeText(value)]),
  );
  return Buffer.concat(parts);
}

function encodeText(text: string): Buffer {
  if (text.length > MOST_BYTES || !/^[\x20-\x7e]*$/.test(text)) throw new Error("a header is too long, or not in ASCII");
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "latin1")]);
}
