//go:build !race

package pdf_test

const underRace = false
