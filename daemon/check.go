package daemon

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arborist/crawl"
	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Check implements [api.Keeper]: it re-hashes every document and compares
// index, logs and text.
func (n *Node) Check(ctx context.Context) (api.CheckResult, error) {
	return n.CheckWith(ctx, api.CheckRequest{})
}

// CheckWith implements [api.Keeper].
func (n *Node) CheckWith(ctx context.Context, req api.CheckRequest) (res api.CheckResult, err error) {
	res.Problems = []string{}
	report := func(problem string) { res.Problems = append(res.Problems, problem) }
	var opts shard.CheckOptions
	if opts.Subset, err = shard.ParseSubset(req.Subset); err != nil {
		return res, api.NewError(api.CodeUsage, err, "")
	}
	if req.DryRun && !req.Repair && !req.Heal {
		return res, api.NewError(api.CodeUsage, errors.New("a dry run is one of a repair"), "give --repair or --heal too")
	}
	if len(req.From) > 0 && !req.Heal {
		return res, api.NewError(api.CodeUsage, errors.New("a source is one to heal from"), "give --heal too")
	}
	if (req.Repair || req.Heal) && !req.DryRun {
		if err := n.writable(); err != nil {
			return res, err
		}
	}
	if req.Repair {
		opts.Repair = n.home.repair(req.DryRun, &res.Repaired)
	}
	if req.Heal {
		opts.Heal = n.heal(req.From, req.DryRun, &res.Repaired)
	}
	// A repair adds to the quarantine on the way, so it is asked each time.
	opts.Quarantined = n.home.quarantined
	shared, err := n.shared.CheckWith(ctx, opts, report)
	if err != nil {
		return res, explain(err)
	}
	private, err := n.private.File().CheckWith(ctx, opts, report)
	res.Documents = shared + private
	if err != nil {
		return res, explain(err)
	}
	attached, err := n.checkAttached(ctx, opts.Subset, report)
	res.Documents += attached
	if err != nil {
		return res, explain(err)
	}
	if err := n.checkLostLogs(ctx, req, report, &res.Repaired); err != nil {
		return res, explain(err)
	}
	if err := n.checkHeads(ctx, report); err != nil {
		return res, explain(err)
	}
	if slices.ContainsFunc(res.Problems, func(p string) bool { return !strings.Contains(p, "arborist ") }) {
		res.Next = "mend it: arborist check --repair"
		if req.Repair && !req.DryRun {
			res.Next = "bring the files that are named back from a backup; or, where a daemon runs, stop it and run arborist check --repair again"
		}
	}
	res.Quarantined, err = n.inQuarantine(ctx)
	return res, explain(err)
}

// checkLostLogs reports each own corpus without a log, or makes it again.
func (n *Node) checkLostLogs(ctx context.Context, req api.CheckRequest, report func(string), did *[]string) error {
	lost, err := n.lostLogs(ctx)
	if err != nil {
		return err
	}
	if req.Repair {
		err := n.remakeLogs(ctx, lost, n.home.repair(req.DryRun, did))
		// Damage of the file: that is mended only while no daemon runs, and was reported.
		if err != nil && !errors.Is(err, corpus.ErrCorrupt) || err == nil && !req.DryRun {
			return err
		}
	}
	for _, name := range lost {
		report(n.lostLogProblem(name) + ": " + mendLostLog)
	}
	return nil
}

// checkHeads reports each own log that is behind what its key has signed, or
// that cannot be compared with that, as status does.
func (n *Node) checkHeads(ctx context.Context, report func(string)) error {
	problems, err := n.reconcileHeads(ctx)
	if err != nil {
		return err
	}
	corpora, err := n.corpora(ctx)
	if err != nil {
		return err
	}
	for _, c := range corpora {
		if c.Own && !c.Frozen && c.Seen > c.Size {
			problems = append(problems, n.corpusProblem(c, ""))
		}
	}
	for _, p := range problems {
		report(p)
	}
	return nil
}

// repair mends into the quarantine of the home and writes down what it does.
func (h Home) repair(dry bool, did *[]string) *shard.Repair {
	return &shard.Repair{DryRun: dry, Keep: h.quarantine, Did: func(line string) {
		if dry {
			line = "would do: " + line
		}
		*did = append(*did, line)
	}}
}

// A quarantineNote says what a document in quarantine was.
type quarantineNote struct {
	Root      document.Root        `json:"root"`
	File      string               `json:"file"`
	Reason    string               `json:"reason"`
	Taken     time.Time            `json:"taken"`
	Locations []quarantineLocation `json:"locations"`
}

type quarantineLocation struct {
	URI    string `json:"uri"`
	Title  string `json:"title"`
	Corpus string `json:"corpus,omitempty"`
}

func (h Home) noteOf(root document.Root) string {
	return filepath.Join(h.Quarantine(), root.String()+".json")
}

// quarantine writes what is left of a document, unproven, beside a note.
func (h Home) quarantine(l shard.Lost) error {
	if err := shard.MakeFolder(h.Quarantine()); err != nil {
		return err
	}
	note := quarantineNote{Root: l.Root, File: l.File, Reason: l.Reason, Taken: time.Now().UTC().Truncate(time.Second), Locations: []quarantineLocation{}}
	for _, at := range l.Locations {
		note.Locations = append(note.Locations, quarantineLocation{at.URI, at.Title, at.Corpus})
	}
	b, err := json.MarshalIndent(note, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(h.Quarantine(), l.Root.String()+".text"), l.Text); err != nil {
		return err
	}
	return replaceFile(h.noteOf(l.Root), append(b, '\n'))
}

// quarantined reports whether a document was taken out.
func (h Home) quarantined(root document.Root) bool {
	_, err := os.Lstat(h.noteOf(root))
	return err == nil
}

// inQuarantine lists the documents in quarantine that are stored nowhere.
func (n *Node) inQuarantine(ctx context.Context) (roots []string, err error) {
	entries, err := os.ReadDir(n.home.Quarantine())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		root, err := document.ParseRoot(name)
		if !ok || err != nil {
			continue
		}
		shared, err1 := n.shared.Has(ctx, []document.Root{root})
		private, err2 := n.private.File().Has(ctx, []document.Root{root})
		for _, err := range []error{err1, err2} {
			if err != nil && !errors.Is(err, shard.ErrCorrupt) { // what cannot be read has been reported
				return nil, err
			}
		}
		if !slices.Contains(append(shared, private...), true) {
			roots = append(roots, name)
		}
	}
	return roots, nil
}

// Salvage mends the files of a home that cannot be opened or in which SQLite finds
// damaged pages, which can be done only while nobody has it open, and returns
// what it did.
func Salvage(ctx context.Context, home Home, dryRun bool) (did []string, err error) {
	cfg, err := home.check()
	if err != nil {
		return nil, explain(err)
	}
	l, err := takeLock(ctx, home, lockWait)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { err = errors.Join(err, l.release()) }()
	r := *home.repair(dryRun, &did)
	if r.Own, err = home.keptLogs(); err != nil {
		return nil, explain(err)
	}
	if err := shard.SalvageShared(ctx, home.Shards(), home.Quarantine(), r); err != nil {
		return did, explain(err)
	}
	r.Usable = func(path string) error {
		p, err := crawl.OpenPrivate(path)
		if err != nil {
			return err
		}
		return p.Close()
	}
	r.Carry = func(ctx context.Context, old *sql.DB, fresh string) error {
		c, err := crawl.Carry(ctx, old, fresh)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("the crawl db's list of %d addresses in %d crawls goes into the new file", c.Addresses, c.Crawls)
		if !c.Whole {
			line += ", which is all of it that can be read: what a crawl with --resume does not find, it finds without"
		}
		r.Did(line)
		return nil
	}
	err = shard.SalvageFile(ctx, crawlDBPath(home, cfg), shard.KindPrivate, 0, 1, home.Quarantine(), r)
	if errors.Is(err, shard.ErrNotFound) {
		err = nil
	}
	return did, explain(err)
}
