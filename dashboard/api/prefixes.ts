/** Of the management API. */
export const API_PATH = "/api/v1";

/** Of SCIM, below it. */
export const SCIM_PATH = `${API_PATH}/scim/v2`;
