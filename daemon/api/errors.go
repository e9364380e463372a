package api

import (
	"context"
	"errors"
)

// A Code classes an error for programs. Codes and their exit codes never
// change their meaning.
type Code string

// The codes, each with the exit code of the command line.
const (
	CodeFailed      Code = "failed"      // 1: see the message
	CodeNotFound    Code = "not_found"   // 1: no such document, corpus, peer or file
	CodeDenied      Code = "denied"      // 1: refused by rule (robots, address guard, permissions)
	CodeUnavailable Code = "unavailable" // 1: a peer or a server did not answer
	CodeNewer       Code = "newer"       // 1: made by a newer version of Arborist
	CodeUsage       Code = "usage"       // 2: the request itself is wrong
	CodePartial     Code = "partial"     // 3: some of it failed
	CodeInvalid     Code = "invalid"     // 4: a proof or data does not verify
	CodeNoStore     Code = "no_store"    // 10: there is no home here
	CodeLocked      Code = "locked"      // 11: another process owns the home
	CodeInterrupted Code = "interrupted" // 130: cancelled
)

// ExitCode returns the exit code of the command line for a code.
func (c Code) ExitCode() int {
	switch c {
	case CodeUsage:
		return 2
	case CodePartial:
		return 3
	case CodeInvalid:
		return 4
	case CodeNoStore:
		return 10
	case CodeLocked:
		return 11
	case CodeInterrupted:
		return 130
	default:
		return 1
	}
}

// An Error is an error as people and programs outside see it: one line that
// names the thing, and the next step.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	cause   error
}

// NewError wraps cause as an [Error] whose message is the cause's.
func NewError(code Code, cause error, hint string) *Error {
	return &Error{Code: code, Message: cause.Error(), Hint: hint, cause: cause}
}

// Error returns the message without the hint.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what caused the error, nil after it crossed the socket.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as an [Error]: itself where it holds one, otherwise
// classed as interrupted or failed.
func AsError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return NewError(CodeInterrupted, err, "run the command again to go on")
	default:
		return NewError(CodeFailed, err, "")
	}
}
