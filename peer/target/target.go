// Package target holds the places that a corpus can be published to: a folder,
// an S3 bucket, a Google Cloud Storage bucket. Each gives a name its whole
// content or nothing, and returns when that is durable. Credentials come from
// the environment and from the standard files of each service alone; no error
// holds any of them.
package target

import "errors"

// ErrAddress: it does not name a bucket, whatever there is.
var ErrAddress = errors.New("not the address of a bucket")
