/** A part of a form: a text, or a file with a name. */
export type FormPart = readonly [name: string, value: string | { filename: string; bytes: Buffer }];

export const BOUNDARY = "----form-boundary-7MA4";

/** A form as clients write it. */
export function writeForm(parts: readonly FormPart[], boundary = BOUNDARY): Buffer {
  const written = parts.flatMap(([name, value]) => {
    const isText = typeof value === "string";
    const filename = isText ? "" : `; filename="${value.filename}"\r\nContent-Type: application/octet-stream`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename}\r\n\r\n`;
    return [Buffer.from(head), isText ? Buffer.from(value) : value.bytes, Buffer.from("\r\n")];
  });
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

export function formHeaders(boundary = BOUNDARY): ReadonlyMap<string, string> {
  return new Map([["content-type", `multipart/form-data; boundary=${boundary}`]]);
}

/** A WAV file of silence: 16 bits, one channel. */
export function wavFile(seconds: number, samplesPerSecond = 16_000): Buffer {
  const data = Math.round(seconds * samplesPerSecond) * 2;
  const file = Buffer.alloc(44 + data);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + data, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(samplesPerSecond, 24);
  file.writeUInt32LE(samplesPerSecond * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(data, 40);
  return file;
}

/** Frames of MPEG 1 layer III, 128 kbit/s at 44.1 kHz: each is 417 bytes and 1,152 samples. */
export function mp3File(frames: number): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb9000, 0);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}
