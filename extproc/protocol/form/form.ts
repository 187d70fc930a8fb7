/** What only a form has. */
export interface Form {
  /** As the client wrote it: the boundary is in it. */
  readonly contentType: string;
  /** The one file, which shares memory with the body. */
  readonly file: Buffer;
  /** Of all fields but the file. */
  readonly textBytes: number;
  /** The form with another model's name, every other byte as received; the same buffer if it is the same name. */
  withModel(name: string): Buffer;
}
