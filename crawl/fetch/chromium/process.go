package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// A process is one running browser with its children.
type process struct {
	ctx    context.Context // of the browser; ends when it dies
	cancel context.CancelFunc
	group  int    // process group of all its processes, 0 where unknown
	folder string // of its own, for all that it writes
	once   sync.Once
	mu     sync.Mutex
	reason error         // why it was killed
	gone   chan struct{} // closed once no process is left
}

// startLimit is how long a browser may take to come up.
const startLimit = 60 * time.Second

// running gives the browser's process and starts one where there is none, or
// where the last one died. The start is not the caller's: it goes on for the
// next page where ctx ends.
func (b *Browser) running(ctx context.Context) (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if b.proc != nil && b.proc.ctx.Err() == nil {
		return b.proc, nil
	}
	if b.proc != nil {
		b.proc.kill(errCrashed)
		b.proc = nil
	}
	p, err := b.start()
	if err != nil {
		return nil, err
	}
	b.proc = p
	return p, nil
}

func (b *Browser) start() (*process, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("%w: no folder for it: %w", ErrNoBrowser, err)
	}
	p := &process{folder: folder, gone: make(chan struct{})}
	var cmd *exec.Cmd
	opts := append(b.flags(folder), chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
		cmd = c
		ownGroup(c)
	}))
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	quiet := func(string, ...any) {}
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	p.ctx, p.cancel = ctx, func() { cancel(); cancelAlloc() }
	giveUp := time.AfterFunc(startLimit, cancelAlloc)
	_, err = chromedp.CallBrowser(ctx, browser.GetVersion, cdp.Empty{})
	giveUp.Stop()
	if cmd != nil && cmd.Process != nil {
		p.group = cmd.Process.Pid
	}
	if err != nil {
		p.kill(err)
		return nil, fmt.Errorf("%w: %s does not start: %.300s", ErrNoBrowser, b.path, firstLine(err))
	}
	go p.watch(b.cfg.Memory)
	return p, nil
}

// folderLength is how long the name of a browser's folder may be. Chromium puts a
// socket below its temporary folder, and dies where a name of 107 bytes (unix(7)) is
// too short for /org.chromium.Chromium.XXXXXX/SingletonSocket in it.
const folderLength = 107 - 45

// newFolder makes a folder for one browser: its profile, and what it would leave in
// the home and among the temporary files when it is killed.
func newFolder() (string, error) {
	folder, err := os.MkdirTemp("", "arborist-")
	if err != nil || len(folder) <= folderLength {
		return folder, err
	}
	short, err := os.MkdirTemp("/tmp", "arborist-")
	if err != nil {
		return folder, nil
	}
	return short, os.Remove(folder)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// flags are the browser's command line. They are the package's promises in the
// browser's own words; interception and the proxy hold where one is not obeyed.
func (b *Browser) flags(folder string) []chromedp.ExecAllocatorOption {
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(b.path),
		// The keys and tokens of our own environment are none of its business.
		chromedp.NoInheritEnv,
		chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+folder, "TMPDIR="+folder, "LANG=C.UTF-8"),
		chromedp.UserDataDir(filepath.Join(folder, "profile")),
		chromedp.Flag("proxy-server", "http://"+b.proxy.Addr()),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("user-agent", b.cfg.UserAgent),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("disable-features", strings.Join([]string{
			"HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "LocalNetworkAccessChecks", "BlockInsecurePrivateNetworkRequests",
			"Translate", "OptimizationHints", "MediaRouter", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
			"SpareRendererForSitePerProcess", "DialMediaRouteProvider", "WebTransport", "DirectSockets",
		}, ",")),
		chromedp.Flag("js-flags", "--max-old-space-size=256"),
		chromedp.Flag("renderer-process-limit", fmt.Sprint(b.cfg.Tabs+1)),
	}
	for _, f := range []string{
		"headless", "disable-gpu", "disable-quic", "no-first-run", "no-default-browser-check", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-default-apps", "disable-extensions", "disable-breakpad",
		"disable-client-side-phishing-detection", "disable-domain-reliability", "disable-dev-shm-usage", "metrics-recording-only",
		"no-pings", "mute-audio", "hide-scrollbars", "block-new-web-contents", "disable-popup-blocking",
		"disable-background-timer-throttling", "disable-backgrounding-occluded-windows", "disable-renderer-backgrounding",
	} {
		opts = append(opts, chromedp.Flag(f, true))
	}
	if os.Geteuid() == 0 {
		// As root the sandbox does not work. For every other user it stays on.
		opts = append(opts, chromedp.Flag("no-sandbox", true))
	}
	return opts
}

// kill ends the browser with all of its processes, and waits until they are
// gone. Only the first reason counts.
func (p *process) kill(reason error) {
	p.once.Do(func() {
		p.mu.Lock()
		p.reason = reason
		p.mu.Unlock()
		killGroup(p.group)
		p.cancel() // waits for the browser
		killGroup(p.group)
		os.RemoveAll(p.folder)
		close(p.gone)
	})
	<-p.gone
}

// killed gives the reason why the browser was killed, nil where it was not.
func (p *process) killed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// watch kills the browser once its processes hold more than limit bytes of
// private memory.
func (p *process) watch(limit int64) {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
			if groupMemory(p.group) > limit {
				p.kill(fmt.Errorf("%w of %d MiB", ErrMemory, limit>>20))
				return
			}
		}
	}
}
