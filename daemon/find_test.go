package daemon

import (
	"testing"

	"arborist/daemon/api"
)

func TestEveryPageThatAQueryMayAskForIsAnswered(t *testing.T) {
	n := openNode(t, newHome(t))
	at := func(offset int) error {
		_, err := n.Query(t.Context(), api.QueryRequest{Text: "granite", Limit: 1, Offset: offset})
		return err
	}
	if err := at(MaxOffset); err != nil {
		t.Errorf("the last page: %v", err)
	}
	if err := at(MaxOffset + 1); err == nil || api.AsError(err).Code != api.CodeUsage {
		t.Errorf("one behind it: %v", err)
	}
}
