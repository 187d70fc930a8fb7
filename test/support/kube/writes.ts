/**
 * A kubectl template for who wrote an object and when, but for the spend of ApiKeys and when they were last used: the operator
 * writes those once a minute.
 */
export const WRITES = "{range .metadata.managedFields[?(@.manager!='model-gateway-activity')]}{.manager} {.time} {end}";
