// Command colly crawls one host with Colly and follows links, nothing more: what
// crawlbench holds a crawl that stores its pages against. It is a module of its
// own, so that nothing of Colly is built into Arborist.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	if err := crawl(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func crawl(seed string) error {
	c := colly.NewCollector(colly.Async(true))
	c.IgnoreRobotsTxt = false
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 8}); err != nil {
		return err
	}
	site := strings.Join(strings.SplitAfterN(seed, "/", 4)[:3], "")
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		link, _, _ := strings.Cut(e.Request.AbsoluteURL(e.Attr("href")), "#")
		if strings.HasPrefix(link, site) {
			_ = c.Visit(link) // what was visited already, and what cannot be
		}
	})
	if err := c.Visit(seed); err != nil {
		return err
	}
	c.Wait()
	return nil
}
