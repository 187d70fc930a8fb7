/** API group of our resources, and the version that is served and stored. */
export const GROUP = "modelgateway.dev";
export const VERSION = "v1alpha1";
