package main

import (
	"slices"
	"time"
)

// spread is how durations lie, in milliseconds.
type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

func spreadOf(durations []time.Duration) spread {
	if len(durations) == 0 {
		return spread{}
	}
	slices.Sort(durations)
	at := func(share float64) float64 {
		return float64(durations[int(share*float64(len(durations)-1))]) / float64(time.Millisecond)
	}
	return spread{P50: at(0.5), P99: at(0.99)}
}
