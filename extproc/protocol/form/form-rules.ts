/** What an interface takes as a form, known from its path. */
export type FormKind = "recording" | "edit";

/** The files of a form. Texts are checked where they are read. */
export interface FormRules {
  /** What has to be in the form, as part of a sentence. */
  members: string;
  /** The fields that are files. At least one of the first field, or of one that means the same, has to be there. */
  required: readonly [string, ...string[]];
  optional: readonly string[];
  /** Fields that may come once: servers read the first or the last of several. */
  once: ReadonlySet<string>;
  /** What the required file is. */
  content: string;
  /** How curl sends it. */
  example: string;
  /** All of the files that there may be, as part of a sentence. */
  allowed: string;
}

export const FORM_RULES = {
  recording: {
    members: "`file` and `model`",
    required: ["file"],
    optional: [],
    once: new Set(["model", "file", "stream"]),
    content: "recording",
    example: "-F file=@speech.mp3",
    allowed: "one file, as `file`",
  },
  edit: {
    members: "`image`, `prompt` and `model`",
    required: ["image", "image[]"],
    optional: ["mask", "markup"],
    once: new Set(["model", "mask", "markup", "stream"]),
    content: "picture",
    example: "-F image=@cat.png",
    allowed: "pictures as `image` or `image[]`, one as `mask` or `markup`",
  },
} as const satisfies Record<FormKind, FormRules>;
