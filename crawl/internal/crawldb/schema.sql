-- Tables of the crawler in the private file, beside the documents' own.

-- The version of these tables. Exactly one row.
CREATE TABLE IF NOT EXISTS crawl_format (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL
) STRICT;

INSERT INTO crawl_format VALUES (1, 1) ON CONFLICT DO NOTHING;

-- The latest crawl of each seed, and of each set of seeds.
CREATE TABLE IF NOT EXISTS crawls (
  id    INTEGER PRIMARY KEY,
  seed  TEXT NOT NULL UNIQUE, -- normalised; of several, sorted, one a line
  depth INTEGER NOT NULL,     -- that it may reach
  begun INTEGER NOT NULL      -- Unix seconds
) STRICT;

-- What the pages of a crawl with a relevance gate are compared with: 32-bit
-- floating-point numbers, little-endian.
CREATE TABLE IF NOT EXISTS seed_vectors (
  crawl  INTEGER PRIMARY KEY REFERENCES crawls (id),
  vector BLOB NOT NULL
) STRICT;

-- Every address of a crawl. Within a crawl, ids ascend in the order of
-- discovery.
CREATE TABLE IF NOT EXISTS frontier (
  id     INTEGER PRIMARY KEY,
  crawl  INTEGER NOT NULL REFERENCES crawls (id),
  url    TEXT NOT NULL,
  depth  INTEGER NOT NULL,
  chain  INTEGER NOT NULL,
  trail  TEXT NOT NULL,     -- redirects that led here, one a line
  state  INTEGER NOT NULL,  -- see package frontier
  status INTEGER NOT NULL,
  class  TEXT NOT NULL,
  reason TEXT NOT NULL      -- of a refusal or failure; where a redirect led, empty in crawls of earlier versions
) STRICT;

CREATE UNIQUE INDEX IF NOT EXISTS frontier_url ON frontier (crawl, url);
-- What waits at each origin: scheme, host and port, up to the first slash after them.
CREATE INDEX IF NOT EXISTS frontier_origin ON frontier (crawl, substr(url, 1, instr(substr(url, 9), '/') + 7), depth, id) WHERE state = 0;
DROP INDEX IF EXISTS frontier_waiting; -- of earlier versions

-- What the latest check of a page found: crawler recrawl-check, and crawls that
-- meet a stored page that is gone.
CREATE TABLE IF NOT EXISTS checks (
  url      TEXT PRIMARY KEY,
  at       INTEGER NOT NULL, -- Unix milliseconds
  state    TEXT NOT NULL,    -- fresh, stale, gone, unreachable
  since    INTEGER NOT NULL, -- Unix milliseconds: in this state from then on
  status   INTEGER NOT NULL, -- HTTP status, 0 where there was none
  reason   TEXT NOT NULL,
  root     BLOB NOT NULL,    -- of the content that was checked
  etag     TEXT NOT NULL,    -- the server's newest validators for that content
  modified TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The first page on which an address was found, or the address that redirected
-- to it.
CREATE TABLE IF NOT EXISTS referrers (
  entry INTEGER PRIMARY KEY REFERENCES frontier (id),
  page  INTEGER NOT NULL REFERENCES frontier (id)
) STRICT;

-- What is known of a page that was fetched beside its document. There is a row
-- where there is something to say.
CREATE TABLE IF NOT EXISTS about (
  url    TEXT PRIMARY KEY,
  author TEXT NOT NULL,
  parent TEXT NOT NULL -- of a document file: the page that it was found on
) STRICT, WITHOUT ROWID;

-- Pages as they came, from the fetch until their document is stored.
CREATE TABLE IF NOT EXISTS spool (
  entry        INTEGER PRIMARY KEY REFERENCES frontier (id),
  url          TEXT NOT NULL,
  tries        INTEGER NOT NULL, -- times that it was handed on and the program ended
  fetched_at   INTEGER NOT NULL, -- Unix seconds
  content_type TEXT NOT NULL,
  status       INTEGER NOT NULL,
  etag         TEXT NOT NULL,
  modified     TEXT NOT NULL,
  body         BLOB NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS spool_url ON spool (url);
