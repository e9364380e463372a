package merkle

import "testing"

func TestEachNodeLeadsFromTheLeavesToTheRoot(t *testing.T) {
	for n := range 40 {
		leaves := make([]Hash, n)
		known := make(map[Hash]bool)
		for i := range leaves {
			leaves[i] = LeafHash([]byte{byte(i)})
			known[leaves[i]] = true
		}
		var last Hash
		nodes := 0
		EachNode(leaves, func(node, left, right Hash) bool {
			if !known[left] || !known[right] || node != NodeHash(left, right) {
				t.Fatalf("%d leaves: a node before its children, or not theirs", n)
			}
			known[node], last = true, node
			nodes++
			return true
		})
		if nodes != max(n-1, 0) || n > 1 && last != Root(leaves) {
			t.Errorf("%d leaves: %d nodes, the last one %x", n, nodes, last)
		}
		stopped := 0
		EachNode(leaves, func(_, _, _ Hash) bool { stopped++; return stopped < 3 })
		if stopped != min(max(n-1, 0), 3) {
			t.Errorf("%d leaves: %d nodes, want that it ends with the third", n, stopped)
		}
	}
}
