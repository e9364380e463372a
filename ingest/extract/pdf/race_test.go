//go:build race

package pdf_test

// underRace: the race detector keeps several times the memory of a program beside it.
const underRace = true
