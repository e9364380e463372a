//go:build race

package extract

// slowdown is what the race detector costs.
const slowdown = 12
