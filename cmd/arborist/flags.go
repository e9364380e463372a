package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A number is the value of a flag that takes a whole number. It has one
// spelling, decimal without sign or leading zero: where 010 is read as 8, 0x10
// as 16 and 1_0 as 10, a slip of the hand gives an answer to another question.
type number[T int | uint64] struct {
	to        *T
	low, high uint64
}

// numberVar adds a flag for a number from low to high.
func numberVar[T int | uint64](f *pflag.FlagSet, to *T, name string, def T, low, high uint64, usage string) {
	*to = def
	f.Var(&number[T]{to, low, high}, name, usage)
}

func (n *number[T]) String() string {
	if n.to == nil {
		return "0" // pflag asks a zero value
	}
	return strconv.FormatUint(uint64(*n.to), 10)
}

func (n *number[T]) Type() string { return "number" }

func (n *number[T]) Set(s string) error {
	v, err := parseNumber(s)
	switch {
	case err == nil && v >= n.low && v <= n.high:
		*n.to = T(v)
		return nil
	case n.high >= math.MaxInt64:
		return fmt.Errorf("want a whole number from %d on, without sign or leading zero", n.low)
	default:
		return fmt.Errorf("want a whole number from %d to %d, without sign or leading zero", n.low, n.high)
	}
}

// A rate is the value of a flag for so many a second, in one spelling.
type rate struct{ to *float64 }

// maxRate is far above what anybody means by a rate.
const maxRate = 10_000

// rateVar adds a flag for a rate above 0; without the flag it is 0.
func rateVar(f *pflag.FlagSet, to *float64, name, usage string) { f.Var(&rate{to}, name, usage) }

func (r *rate) String() string {
	if r.to == nil {
		return "0"
	}
	return strconv.FormatFloat(*r.to, 'f', -1, 64)
}

func (r *rate) Type() string { return "rate" }

func (r *rate) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v <= maxRate) || strconv.FormatFloat(v, 'f', -1, 64) != s {
		return fmt.Errorf("want a number above 0, at most %d, such as 2 or 0.5", maxRate)
	}
	*r.to = v
	return nil
}

// parseNumber parses a whole number in its one spelling.
func parseNumber(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil || strconv.FormatUint(v, 10) != s {
		return 0, errors.New("want a whole number, without sign or leading zero")
	}
	return v, nil
}

// noneEmpty refuses a flag or an argument that is given and empty: that is a
// variable which is not set, or a command that has failed inside "$(…)". Left
// to the verbs it would mean "the default", "all" or "the folder I am in".
func noneEmpty(cmd *cobra.Command, words []string) (err error) {
	for i, w := range words {
		if w == "" {
			return usage(fmt.Errorf("%s: argument %d is empty", cmd.CommandPath(), i+1), "is a variable not set? for example: "+firstExample(cmd))
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				empty = empty || v == ""
			}
		}
		if empty && err == nil {
			err = usage(fmt.Errorf("%s: --%s is empty", cmd.CommandPath(), f.Name), "give it a value or leave it out; is a variable not set?")
		}
	})
	return err
}
