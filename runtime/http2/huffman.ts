/**
 * Lengths in bits of the codes of HPACK's Huffman code, by byte, and last that of its end mark (RFC 7541, appendix B). The code
 * is canonical: of the same length, codes go up with the bytes; each length goes on where the shorter one ended.
 */
const CODE_BITS = [
  [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28,
    28,
  ],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23,
    24,
  ],
  [
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22,
    23,
  ],
  [
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
    27,
  ],
  [
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27,
    26,
  ],
  [30],
].flat();

const MOST_BITS = 30;
const END_MARK = 256;
const MOST_PADDING_BITS = 7;

/** All codes of one length. */
interface Codes {
  first: number;
  symbols: readonly number[];
}

/**
 * A decoder of strings. Header strings repeat, and repeated ones come as indexes into a table: it goes bit by bit.
 * @throws Error (the decoder) for bytes that are no such string.
 */
export function createHuffmanDecoder(): (bytes: Buffer) => string {
  const codesOfLength = layOut();

  return (bytes) => {
    const text: number[] = [];
    let code = 0;
    let bits = 0;
    for (const byte of bytes) {
      for (let shift = 7; shift >= 0; shift--) {
        code = code * 2 + ((byte >> shift) & 1);
        bits += 1;
        if (bits > MOST_BITS) throw new Error("a Huffman code is unknown");
        const codes = codesOfLength[bits];
        const symbol = codes?.symbols[code - codes.first];
        if (symbol === undefined) continue;
        if (symbol === END_MARK) throw new Error("a Huffman string holds its end mark");
        text.push(symbol);
        code = 0;
        bits = 0;
      }
    }
    // A string is filled up with the beginning of the end mark, which is all ones.
    if (bits > MOST_PADDING_BITS || code !== 2 ** bits - 1) throw new Error("a Huffman string ends inside a code");
    return Buffer.from(text).toString("latin1");
  };
}

function layOut(): Codes[] {
  const codes: Codes[] = [];
  let next = 0;
  for (let bits = 0; bits <= MOST_BITS; bits++) {
    const symbols = CODE_BITS.flatMap((length, symbol) => (length === bits ? [symbol] : []));
    codes.push({ first: next, symbols });
    next = (next + symbols.length) * 2;
  }
  return codes;
}
