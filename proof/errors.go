package proof

import (
	"errors"
	"fmt"
)

// Every error of this package wraps one of these, so that a program can say in
// one line what is wrong and what to do next.
var (
	// ErrFormat: the input is not the one valid spelling of anything.
	ErrFormat = errors.New("not in the one valid form")
	// ErrTruncated: the input ends too early. It is an [ErrFormat] too.
	ErrTruncated = fmt.Errorf("%w: it ends too early", ErrFormat)
	// ErrVersion: a proof file of a version that this code does not know.
	ErrVersion = errors.New("made by a version of the format that is not known here")
	// ErrTooLarge: the input is over one of the caps of this package.
	ErrTooLarge = errors.New("too large")
	// ErrTampered: the parts do not belong together; at least one was changed.
	ErrTampered = errors.New("parts do not belong together")
	// ErrUnknownKey: no signature by the key that was given.
	ErrUnknownKey = errors.New("not signed by the key given")
	// ErrOtherKey: no signature by the key given, but one under its name: the
	// corpus may have changed its key. It is an [ErrUnknownKey] too.
	ErrOtherKey = fmt.Errorf("%w but by another key of its name", ErrUnknownKey)
	// ErrRotation: rotations that make no chain, that do not lead to the key
	// given, or a head that a replaced key cannot have signed while it counted.
	ErrRotation = errors.New("rotations do not bear it out")
	// ErrOrigin: a checkpoint of another corpus than the key is for.
	ErrOrigin = errors.New("checkpoint of another corpus")
	// ErrSignature: a signature by the key that was given is wrong.
	ErrSignature = errors.New("signature is wrong")
	// ErrDocument: the proof holds, but for another document than expected.
	ErrDocument = errors.New("proof of another document")
	// ErrNoPassage: the passage is kept apart from the proof and was not given.
	ErrNoPassage = errors.New("passage is not in the proof and was not given")
	// ErrNotLogged: a key was given, but the proof has no corpus part.
	ErrNotLogged = errors.New("proof names no corpus")
	// ErrWitness: fewer of the witnesses given have cosigned than demanded.
	ErrWitness = errors.New("not cosigned by enough of the witnesses given")
	// ErrExpect: what is expected of a proof makes no sense, whatever the proof.
	ErrExpect = errors.New("what is expected of the proof cannot be checked")
	// ErrCheckpoints: proofs for one bundle have several checkpoints of a corpus.
	ErrCheckpoints = errors.New("proofs of one corpus under different checkpoints")
)
