// Package proof is what a stranger needs to trust a passage: the record, the
// checkpoint, the proof file and their verification.
package proof
