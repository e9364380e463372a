package audit

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed report.html
var pageHTML string

// WriteHTML writes the report of a site as one page that needs no network and
// runs no script.
func (r Report) WriteHTML(w io.Writer, seed string) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"percent": func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	var depths, statuses, clusters []bar
	for _, d := range r.Depths {
		depths = append(depths, bar{Name: fmt.Sprint(d.Depth), Count: d.Pages})
	}
	for _, s := range r.Statuses {
		statuses = append(statuses, bar{Name: fmt.Sprint(s.Status), Count: s.Count, Bad: s.Status >= 400})
	}
	for _, c := range r.Duplicates[:min(len(r.Duplicates), maxBars)] {
		clusters = append(clusters, bar{Name: c.URLs[0], Count: len(c.URLs), Bad: true})
	}
	return t.Execute(w, struct {
		Seed                      string
		Report                    Report
		ThinWords                 int
		Depths, Statuses, Cluster plot
	}{seed, r, ThinWords, newPlot("links from the seed", depths), newPlot("HTTP status", statuses), newPlot("addresses with one text", clusters)})
}

// maxBars is how many bars a plot has at most.
const maxBars = 20

// A plot is a chart of bars that lie.
type plot struct {
	Label  string
	Bars   []bar
	Height int
}

// A bar is one of a plot; places and lengths are in pixels.
type bar struct {
	Name     string
	Count    int
	Bad      bool
	Y, Width int
}

const (
	barStep  = 22
	barWidth = 360
)

func newPlot(label string, bars []bar) plot {
	bars = bars[:min(len(bars), maxBars)]
	most := 1
	for _, b := range bars {
		most = max(most, b.Count)
	}
	for i := range bars {
		bars[i].Y = i * barStep
		bars[i].Width = max(1, bars[i].Count*barWidth/most)
	}
	return plot{Label: label, Bars: bars, Height: len(bars) * barStep}
}

// Short is the end of a name that is too long for its place.
func (b bar) Short() string {
	const most = 28
	if r := []rune(b.Name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return b.Name
}

// TextY is where the text of a bar stands.
func (b bar) TextY() int { return b.Y + 15 }

// CountX is where its number stands.
func (b bar) CountX() int { return 206 + b.Width }
