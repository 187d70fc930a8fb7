/** A file is not changed, for this reason. */
export class Refused extends Error {}

/** The run ends here, with this sentence. */
export class Stopped extends Error {}
