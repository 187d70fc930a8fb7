/** Programs of one go.mod that tests run. */
export interface GoTools {
  /** Their folder in the user's cache directory. */
  name: string;
  /** What they are together, inside a sentence. */
  title: string;
  /** The same as the beginning of a sentence whose verb is a plural. */
  needers: string;
  /** Which they are, inside a sentence. */
  list: string;
  /** Directory of their go.mod. */
  module: string;
  packages: readonly string[];
  /** Flags of `go build`, in addition to those of every build. */
  flags: readonly string[];
  /** Go variables that the linker sets, and their values. */
  linked: Readonly<Record<string, string | undefined>>;
  /** Programs that Go names after a package's folder, and what they are called. */
  renamed: Readonly<Record<string, string>>;
  /** Each program and how it is asked whether it runs. */
  programs: readonly (readonly [name: string, ...parameters: string[]])[];
  /** Duration of a build without a cache. */
  minutes: number;
  /** How one goes without building them: ", or …". */
  alternative: string;
}
