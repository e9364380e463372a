// Command arborist-verify checks a proof file offline: that a passage stood in
// a document, in a publisher's corpus, when its log had so many records. It
// opens the files that it is given and nothing else.
package main

import (
	"os"

	"arborist/proof/report"
)

func main() {
	os.Exit(report.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
