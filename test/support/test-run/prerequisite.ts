/** This machine lacks a dependency of a test. The message is one sentence that explains how to get it. */
export class MissingPrerequisite extends Error {
  override readonly name = "MissingPrerequisite";
}
