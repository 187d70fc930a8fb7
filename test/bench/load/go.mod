// Load for the bench: a model server and a driver in one program. Built by test/bench/load/program.ts; it needs nothing but
// Go's own library.
module modelgateway.dev/test/bench/load

go 1.24
