/** API group of our resources, and the served and stored version. */
export const GROUP = "modelgateway.dev";
export const VERSION = "v1alpha1";
