package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// A Client is a [Service] on the other side of a unix socket. It is safe for
// concurrent use.
type Client struct {
	http *http.Client
}

var _ Service = (*Client)(nil)

// Dial connects to the daemon that listens on a unix socket. It fails at once
// where none does; the error then wraps [ErrNoDaemon].
func Dial(ctx context.Context, socket string) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	conn.Close()
	return &Client{&http.Client{Transport: &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
	}}}, nil
}

// ErrNoDaemon: nothing listens on the socket.
var ErrNoDaemon = errors.New("no daemon runs")

// Close drops idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *Client) post(ctx context.Context, path string, req any) (*http.Response, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon/"+Revision+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, NewError(CodeUnavailable, fmt.Errorf("ask the daemon: %w", err), "see whether it still runs: arborist status")
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var e struct {
		Error *Error `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxRequest)).Decode(&e) != nil || e.Error == nil {
		return nil, NewError(CodeFailed, fmt.Errorf("ask the daemon: %s", resp.Status), "client and daemon may be of different versions: restart the daemon")
	}
	return nil, e.Error
}

func ask[Res any](ctx context.Context, c *Client, path string, req any) (res Res, err error) {
	resp, err := c.post(ctx, path, req)
	if err != nil {
		return res, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxMessage)).Decode(&res); err != nil {
		return res, readError(ctx, err)
	}
	return res, nil
}

func follow[Res any](ctx context.Context, c *Client, path string, req any, fn ProgressFunc) (res Res, err error) {
	resp, err := c.post(ctx, path, req)
	if err != nil {
		return res, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var m message[Res]
		if err := json.Unmarshal(data, &m); err != nil {
			return res, readError(ctx, err)
		}
		if m.Progress != nil && fn != nil {
			fn(*m.Progress)
		}
		if m.Result != nil {
			res = *m.Result
		}
		switch {
		case m.Error != nil:
			return res, m.Error
		case m.Result != nil:
			return res, nil
		}
	}
	return res, readError(ctx, lines.Err())
}

// readError explains an answer that ended before its result.
func readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return NewError(CodeUnavailable, fmt.Errorf("read the daemon's answer: %w", err), "the daemon may have stopped: arborist status")
}
