package target

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	googleTokenURL = "https://oauth2.googleapis.com/token"
	googleScope    = "https://www.googleapis.com/auth/devstorage.read_write"
	maxCredentials = 64 << 10
)

// A googleCredentials is a file of Google's: the key of a service account, or what a user
// has signed in with.
type googleCredentials struct {
	Type         string `json:"type"`
	Email        string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	KeyID        string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	key *rsa.PrivateKey // of a service account
}

// tokens gets access tokens, each for as long as it is good.
type tokens struct {
	http *http.Client
	who  googleCredentials

	mu    sync.Mutex
	token string    // guarded by mu
	until time.Time // guarded by mu
}

// googleTokens reads the credentials that the environment names.
func googleTokens(client *http.Client) (*tokens, error) {
	name := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		name = filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	defer f.Close()
	text, err := readAll(f, name, maxCredentials)
	if err != nil {
		return nil, err
	}
	t := &tokens{http: client}
	if t.who, err = parseCredentials(text); err != nil {
		return nil, fmt.Errorf("credentials in %s: %w", name, err)
	}
	return t, nil
}

// parseCredentials never says what is in them.
func parseCredentials(text []byte) (c googleCredentials, err error) {
	if json.Unmarshal(text, &c) != nil {
		return c, errors.New("not JSON")
	}
	switch c.Type {
	case "service_account":
		block, _ := pem.Decode([]byte(c.PrivateKey))
		if block == nil {
			return c, errors.New("no private key")
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		var ok bool
		if c.key, ok = key.(*rsa.PrivateKey); err != nil || !ok {
			return c, errors.New("the private key is not an RSA key")
		}
	case "authorized_user":
		c.TokenURI = googleTokenURL
	default:
		return c, fmt.Errorf("of the type %.40q; want service_account or authorized_user", c.Type)
	}
	u, err := url.Parse(c.TokenURI)
	if err != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
		return c, errors.New("token_uri is not an https URL")
	}
	return c, nil
}

// get returns a token that is good for a minute at least.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Add(time.Minute).Before(t.until) {
		return t.token, nil
	}
	form, err := t.who.form(now)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.who.TokenURI, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := t.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	defer res.Body.Close()
	var said struct {
		Token   string `json:"access_token"`
		Seconds int    `json:"expires_in"`
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("sign in: status %d: the credentials are not accepted", res.StatusCode)
	}
	if json.NewDecoder(io.LimitReader(res.Body, gcsReply)).Decode(&said) != nil || said.Token == "" {
		return "", errors.New("sign in: the reply has no token")
	}
	t.token, t.until = said.Token, now.Add(time.Duration(said.Seconds)*time.Second)
	return t.token, nil
}

// form returns what a token is asked for with: a signed claim (RFC 7523) or a
// refresh token (RFC 6749).
func (c googleCredentials) form(now time.Time) (url.Values, error) {
	if c.key == nil {
		return url.Values{
			"grant_type": {"refresh_token"}, "client_id": {c.ClientID}, "client_secret": {c.ClientSecret}, "refresh_token": {c.RefreshToken},
		}, nil
	}
	part := func(v any) (string, error) {
		b, err := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b), err
	}
	head, err1 := part(map[string]string{"alg": "RS256", "typ": "JWT", "kid": c.KeyID})
	claim, err2 := part(map[string]any{
		"iss": c.Email, "scope": googleScope, "aud": c.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	sum := sha256.Sum256([]byte(head + "." + claim))
	sig, err3 := rsa.SignPKCS1v15(rand.Reader, c.key, crypto.SHA256, sum[:])
	return url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"assertion":  {head + "." + claim + "." + base64.RawURLEncoding.EncodeToString(sig)},
	}, errors.Join(err1, err2, err3)
}
