package crash

import (
	"crypto/sha256"
	"math/rand/v2"
)

// A Plan chooses images of a log.
type Plan struct {
	log  *Log
	disk *disk
}

// NewPlan follows a log and returns what chooses and builds its images.
func NewPlan(l *Log) (*Plan, error) {
	d, err := follow(l)
	if err != nil {
		return nil, err
	}
	return &Plan{log: l, disk: d}, nil
}

// Build makes the image that a spec names.
func (p *Plan) Build(s Spec) *Image { return p.disk.build(s) }

// Choose calls use with n images, no two of them alike, until it returns false.
// The same log, number and seed give the same images. They are spread over all
// modes and over the whole log: the first ones are the two plain images (all
// that is uncertain lost, all kept) of cuts at acknowledgements, where a loss
// shows. It returns how many there were: a short log has fewer than any n.
func (p *Plan) Choose(n int, seed uint64, use func(Spec, *Image) bool) int {
	coin := rand.New(rand.NewPCG(seed, 0))
	seen := make(map[[sha256.Size]byte]int) // image → acknowledgements it was tried with
	chosen := 0
	try := func(s Spec) bool {
		img := p.Build(s)
		// The same folder after one more acknowledgement has more to keep.
		sum, acks := img.Sum(), len(p.log.Acks(s.Cut))+1
		if seen[sum] >= acks {
			return true
		}
		seen[sum] = acks
		chosen++
		return use(s, img)
	}
	for _, s := range p.plain(n/4, coin) {
		if chosen == n || !try(s) {
			return chosen
		}
	}
	for tries := 0; chosen < n && tries < 20*n; tries++ {
		s, ok := p.toss(tries, coin)
		if ok && !try(s) {
			break
		}
	}
	return chosen
}

// plain returns up to n specs that lose or keep all at acknowledgements.
func (p *Plan) plain(n int, coin *rand.Rand) []Spec {
	var specs []Spec
	for i, o := range p.log.Ops {
		if o.Action == Ack {
			specs = append(specs, Spec{Cut: i + 1, Mode: Lost, Sector: 512}, Spec{Cut: i + 1, Mode: Kept, Sector: 512})
		}
	}
	if len(specs) > n {
		coin.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
		specs = specs[:n]
	}
	return specs
}

// toss picks a cut anywhere, a mode in turn, and what the mode needs.
func (p *Plan) toss(turn int, coin *rand.Rand) (Spec, bool) {
	modes := [...]Mode{LoseOne, TornHead, Random, KeepOne, TornTail, Random, Lost, LoseOne}
	s := Spec{Cut: 1 + coin.IntN(len(p.log.Ops)), Mode: modes[turn%len(modes)], Sector: 512, Seed: coin.Uint64()}
	if coin.IntN(2) == 0 {
		s.Sector = 4096
	}
	unsure := p.disk.uncertain(s.Cut)
	if len(unsure) == 0 {
		return s, s.Mode == Lost
	}
	s.Pick = coin.IntN(len(unsure))
	if s.Mode == TornHead || s.Mode == TornTail {
		// The next write that can be torn.
		for range unsure {
			if count := p.disk.effects[unsure[s.Pick]].count(s.Sector); count > 1 {
				s.Part = 1 + coin.IntN(count-1)
				return s, true
			}
			s.Pick = (s.Pick + 1) % len(unsure)
		}
		return s, false
	}
	return s, true
}

// Uncertain returns the ops that were under way at a cut, in their order: what
// Pick of a [Spec] counts.
func (p *Plan) Uncertain(cut int) []Op {
	var ops []Op
	for _, i := range p.disk.uncertain(cut) {
		ops = append(ops, p.log.Ops[p.disk.effects[i].op])
	}
	return ops
}
