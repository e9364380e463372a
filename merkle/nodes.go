package merkle

// EachNode calls fn with every inner node of the tree over leaf hashes and its two
// children, children before their parents and the left before the right, until fn
// returns false.
func EachNode(leaves []Hash, fn func(node, left, right Hash) bool) {
	if len(leaves) > 1 {
		eachNode(leaves, fn)
	}
}

func eachNode(leaves []Hash, fn func(node, left, right Hash) bool) (root Hash, more bool) {
	if len(leaves) == 1 {
		return leaves[0], true
	}
	k := split(uint64(len(leaves)))
	left, more := eachNode(leaves[:k], fn)
	if !more {
		return root, false
	}
	right, more := eachNode(leaves[k:], fn)
	if !more {
		return root, false
	}
	root = NodeHash(left, right)
	return root, fn(root, left, right)
}
