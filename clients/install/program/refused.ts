/** A file is left as it is, for this reason. */
export class Refused extends Error {}

/** The run ends here, with this sentence. */
export class Stopped extends Error {}
