// Package proof is what a stranger needs to trust a passage: the record of a
// corpus's log, the checkpoint that signs the log, the proof file, and their
// verification. Formats are defined in docs/formats.md, with vectors in
// docs/vectors.
//
// # What it guarantees
//
// [Verify] recomputes everything from bytes. The passage is hashed, never its
// hash believed. The number of chunks comes from the document's header; the
// header's hash from the record; the record is hashed as the log's leaf; the
// number of records comes from the signed checkpoint. Nothing in a proof file
// outside those texts says how large a tree is or what its root is, and no key
// is in it.
//
// Every value has one spelling. Whatever parses encodes to the same bytes
// again, in the text form as in its JSON twin, so that no two files that
// differ are the same proof, except by signature lines of keys that the
// verifier does not know: C2SP demands that those be ignored.
//
// A [Claim] says "was in at size N". It says nothing about today, nor about
// what later records say.
//
// # What anchors a claim
//
// With [Expect].Key, the publisher vouches for header, place and corpus. With
// [Expect].ID, the header and with it the place are fixed, but nobody vouches.
// With [Expect].Root alone the content is fixed and the place is only what the
// proof's own header says: an honest path also verifies for some wrong pairs of
// index and size. [Claim.Statement] says which of these was the case.
//
// # Evidence
//
// [Evidence] holds two signed heads of one corpus. [Evidence.Verify] says what
// they show: that the holder of the key signed two histories, or, of a rollback,
// no more than that both heads are genuine.
//
// # How it is built
//
// The package is pure: no I/O, no clock, no goroutine; it imports the standard
// library, document and merkle. All inputs have caps ([MaxFile], [MaxPassage],
// [MaxRecord], [MaxNote], [MaxEvidence]). All errors wrap one of its sentinels.
//
// Notes, keys and checkpoints are those of https://c2sp.org/signed-note and
// https://c2sp.org/tlog-checkpoint with Ed25519, and interoperate with
// golang.org/x/mod/sumdb/note; the log part of a proof file is a
// https://c2sp.org/tlog-proof.
package proof
