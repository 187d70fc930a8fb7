/** This machine lacks something that a test needs. The message is one sentence that says how to get it. */
export class MissingPrerequisite extends Error {
  override readonly name = "MissingPrerequisite";
}
