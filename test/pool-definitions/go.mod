// The Gateway API Inference Extension, whose definitions test/kube/operator/pools.test.ts installs: it is downloaded, not built. To
// update: its version, and both sums of go.sum, which `go mod download -json MODULE@VERSION` prints.
module modelgateway.dev/test/pool-definitions

go 1.25.0

require sigs.k8s.io/gateway-api-inference-extension v1.5.0
