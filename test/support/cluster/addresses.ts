/** Of the cluster's networks. Each cluster has a network namespace of its own, so that they never meet. */
export const NODE = "node-1";
export const NODE_ADDRESS = "10.250.0.1";
export const NODE_NETWORK = "10.250.0.0/24";
export const POD_NETWORK = "10.244.0.0/24";
export const SERVICE_NETWORK = "10.96.0.0/16";
/** The first of that network: where pods find the API server. */
export const API_SERVICE_ADDRESS = "10.96.0.1";
export const API_URL = `https://${NODE_ADDRESS}:6443`;
export const DNS_DOMAIN = "cluster.local";
/** The simulated model server, on the node itself. */
export const SIMULATOR_PORT = 8000;
