import { createSealer } from "../sealer.ts";

/**
 * Encrypts what customers send and get in batches. Each piece is bound to its position: a row that someone moves elsewhere in the
 * database cannot be opened.
 */
export interface BatchContent {
  sealFile(position: FilePosition, plain: Buffer): Buffer;
  openFile(position: FilePosition, sealed: Buffer): Buffer;
  sealBody(position: RequestPosition, plain: Buffer): Buffer;
  openBody(position: RequestPosition, sealed: Buffer): Buffer;
  sealResult(position: RequestPosition, plain: Buffer): Buffer;
  openResult(position: RequestPosition, sealed: Buffer): Buffer;
}

interface FilePosition {
  fileId: string;
  part: number;
}

interface RequestPosition {
  batchId: string;
  number: number;
}

export function createBatchContent(pepper: Buffer): BatchContent {
  const sealer = createSealer(pepper, "batches");
  function open(sealed: Buffer, about: string): Buffer {
    const plain = sealer.unseal(sealed, about);
    if (plain === undefined) throw new Error(`The content of ${about} was encrypted with another pepper, or is damaged.`);
    return plain;
  }
  const ofFile = ({ fileId, part }: FilePosition) => `${fileId} ${part}`;
  const ofBody = ({ batchId, number }: RequestPosition) => `${batchId} ${number} body`;
  const ofResult = ({ batchId, number }: RequestPosition) => `${batchId} ${number} result`;
  return {
    sealFile: (position, plain) => sealer.seal(plain, ofFile(position)),
    openFile: (position, sealed) => open(sealed, ofFile(position)),
    sealBody: (position, plain) => sealer.seal(plain, ofBody(position)),
    openBody: (position, sealed) => open(sealed, ofBody(position)),
    sealResult: (position, plain) => sealer.seal(plain, ofResult(position)),
    openResult: (position, sealed) => open(sealed, ofResult(position)),
  };
}
