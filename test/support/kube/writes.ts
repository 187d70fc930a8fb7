/** Who writes the spend of ApiKeys, and when they were last used. */
export const ACTIVITY = "model-gateway-activity";

/**
 * A kubectl template for who wrote an object and when, but for the spend of ApiKeys and when they were last used: the operator
 * writes those once a minute.
 */
export const WRITES = `{range .metadata.managedFields[?(@.manager!='${ACTIVITY}')]}{.manager} {.time} {end}`;
