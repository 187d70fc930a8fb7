/** What only a form has. */
export interface Form {
  /** As the client wrote it: the boundary is in it. */
  readonly contentType: string;
  /** In the order of the form. */
  readonly files: readonly FormFile[];
  /** Of all fields that are no files. */
  readonly textBytes: number;
  /** The form with another model's name, every other byte as received; the same buffer if it is the same name. */
  withModel(name: string): Buffer;
}

interface FormFile {
  /** Of its field. */
  readonly name: string;
  /** They share memory with the body. */
  readonly bytes: Buffer;
}
