import { createHuffmanDecoder } from "./huffman.ts";

/** Reads the header blocks of one connection, in their order: HPACK, RFC 7541. */
export interface HeaderDecoder {
  /**
   * Names as sent, lower case. A name that is there twice has its values joined by commas.
   * @throws Error for what is no header block: the connection is of no use then.
   */
  decode(block: Buffer): ReadonlyMap<string, string>;
}

/** What both sides begin with, and this one stays with. */
const TABLE_BYTES = 4096;
const ENTRY_OVERHEAD_BYTES = 32;

interface Entry {
  name: string;
  value: string;
}

export function createHeaderDecoder(): HeaderDecoder {
  const decodeHuffman = createHuffmanDecoder();
  /** Newest last. */
  const table: Entry[] = [];
  let tableBytes = 0;
  let mostTableBytes = TABLE_BYTES;
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  /** The block before, where it left the table as it was: a proxy opens all its streams with the same one. */
  let latest: { block: Buffer; headers: ReadonlyMap<string, string> } | undefined;
  let isTableChanged = false;

  function decode(block: Buffer): ReadonlyMap<string, string> {
    if (latest?.block.equals(block) === true) return latest.headers;
    isTableChanged = false;
    const headers = read(block);
    latest = isTableChanged ? undefined : { block: Buffer.from(block), headers };
    return headers;
  }

  function read(block: Buffer): ReadonlyMap<string, string> {
    bytes = block;
    at = 0;
    const headers = new Map<string, string>();
    while (at < bytes.length) {
      const first = bytes[at] ?? 0;
      if (first >= 0x80) put(headers, entryAt(readInteger(7)));
      else if (first >= 0x40) put(headers, remember(readLiteral(6)));
      else if (first >= 0x20) resize(readInteger(5));
      else put(headers, readLiteral(4));
    }
    return headers;
  }

  function put(headers: Map<string, string>, { name, value }: Entry): void {
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }

  function entryAt(index: number): Entry {
    const known = index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : table[table.length - (index - STATIC_TABLE.length)];
    if (known === undefined) throw new Error("a header block names an entry that is not in its table");
    return known;
  }

  function readLiteral(prefixBits: number): Entry {
    const index = readInteger(prefixBits);
    const name = index === 0 ? readText() : entryAt(index).name;
    return { name, value: readText() };
  }

  function remember(entry: Entry): Entry {
    isTableChanged = true;
    table.push(entry);
    tableBytes += sizeOf(entry);
    evict();
    return entry;
  }

  function resize(size: number): void {
    if (size > TABLE_BYTES) throw new Error("a header table is made larger than was agreed");
    isTableChanged = true;
    mostTableBytes = size;
    evict();
  }

  function evict(): void {
    while (tableBytes > mostTableBytes) {
      const oldest = table.shift();
      tableBytes -= oldest === undefined ? tableBytes : sizeOf(oldest);
    }
  }

  function readText(): string {
    const isHuffman = (bytes[at] ?? 0) >= 0x80;
    const length = readInteger(7);
    if (at + length > bytes.length) throw new Error("a header block ends inside a string");
    const start = at;
    at += length;
    return isHuffman ? decodeHuffman(bytes.subarray(start, at)) : bytes.toString("latin1", start, at);
  }

  /** An integer whose first bits share a byte with what it is for. */
  function readInteger(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = nextByte() & most;
    if (value < most) return value;
    for (let factor = 1; factor < 2 ** 28; factor *= 0x80) {
      const byte = nextByte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error("a header block has a number that is too large");
  }

  function nextByte(): number {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error("a header block ends inside a number");
    return byte;
  }

  return { decode };
}

function sizeOf({ name, value }: Entry): number {
  return name.length + value.length + ENTRY_OVERHEAD_BYTES;
}

/** RFC 7541, appendix A; the first has index 1. */
const STATIC_TABLE: readonly Entry[] = [
  ...valuesOf(":authority", ""),
  ...valuesOf(":method", "GET", "POST"),
  ...valuesOf(":path", "/", "/index.html"),
  ...valuesOf(":scheme", "http", "https"),
  ...valuesOf(":status", "200", "204", "206", "304", "400", "404", "500"),
  ...valuesOf("accept-charset", ""),
  ...valuesOf("accept-encoding", "gzip, deflate"),
  ...[
    ["accept-language", "accept-ranges", "accept", "access-control-allow-origin", "age", "allow", "authorization"],
    ["cache-control", "content-disposition", "content-encoding", "content-language", "content-length", "content-location"],
    ["content-range", "content-type", "cookie", "date", "etag", "expect", "expires", "from", "host", "if-match"],
    ["if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified", "link", "location"],
    ["max-forwards", "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after", "server"],
    ["set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate"],
  ]
    .flat()
    .flatMap((name) => valuesOf(name, "")),
];

function valuesOf(name: string, ...values: string[]): Entry[] {
  return values.map((value) => ({ name, value }));
}
