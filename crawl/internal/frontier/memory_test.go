package frontier_test

import (
	"testing"

	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/frontier/frontiertest"
)

func TestMemoryKeepsThePromisesOfAFrontier(t *testing.T) {
	frontiertest.Run(t, func(*testing.T) frontiertest.Frontier { return frontier.NewMemory(frontiertest.Seed) })
}
