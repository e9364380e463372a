-- One shard file, schema version 4. Everything that a file needs stands in it:
-- it can be handed over alone. What is written down here is compared, text by
-- text, with the schema of every file that is opened.

-- What the file is and how much it holds. Exactly one row.
CREATE TABLE state (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  shard      INTEGER NOT NULL, -- number of this file in its set, from 0
  shards     INTEGER NOT NULL, -- files in the set
  generation INTEGER NOT NULL, -- grows with each change of what search sees
  documents  INTEGER NOT NULL, -- stored, hidden ones included
  chunks     INTEGER NOT NULL, -- stored
  bytes      INTEGER NOT NULL, -- stored, of canonical text
  passages   INTEGER NOT NULL, -- chunks of visible documents
  words      INTEGER NOT NULL, -- words of visible documents
  all_words  INTEGER NOT NULL, -- words of all documents
  posting    INTEGER NOT NULL  -- number that the next row of postings gets; none is used twice
) STRICT;

INSERT INTO state VALUES (1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1);

-- Content, named by its Merkle root. The id is that of chunk 0: chunk i of a
-- document is id + i, in texts as in the index.
CREATE TABLE documents (
  id      INTEGER PRIMARY KEY,
  root    BLOB NOT NULL UNIQUE,
  chunks  INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  norm    TEXT NOT NULL,
  chunker TEXT NOT NULL,
  words   INTEGER NOT NULL, -- of all chunks
  visible INTEGER NOT NULL, -- 1: found by search, because a location is current
  changed INTEGER NOT NULL  -- generation in which visible last changed
) STRICT;

CREATE INDEX documents_changed ON documents (changed);

CREATE INDEX documents_hidden ON documents (id) WHERE visible = 0;

-- Leaf hashes, 32 bytes a chunk, so that a path needs no text; and the hashes
-- of each 16 of them, so that it needs few of them.
CREATE TABLE leaves (
  document INTEGER PRIMARY KEY REFERENCES documents (id),
  hashes   BLOB NOT NULL,
  nodes    BLOB NOT NULL
) STRICT;

-- The text of chunks of one document that follow each other; the id is that of
-- the first of them. text.go has the layout.
CREATE TABLE texts (
  id   INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- Corpora, by origin; the empty origin is that of private documents.
CREATE TABLE origins (
  id     INTEGER PRIMARY KEY,
  origin TEXT NOT NULL UNIQUE
) STRICT;

-- Where content was found. Each row is one version of what stands at a URI of
-- an origin; within a file at most one of them is current, its newest.
CREATE TABLE locations (
  id            INTEGER PRIMARY KEY,
  document      INTEGER NOT NULL REFERENCES documents (id),
  origin        INTEGER NOT NULL REFERENCES origins (id),
  place         BLOB NOT NULL,    -- 16 bytes, a hash of origin and URI
  seq           INTEGER NOT NULL, -- version at the place, from 1, over the set
  current       INTEGER NOT NULL,
  superseded_by BLOB,             -- root that took the place, if one did
  uri           TEXT NOT NULL,
  title         TEXT NOT NULL,
  source        TEXT NOT NULL,
  fetched_at    INTEGER NOT NULL, -- Unix seconds
  content_type  TEXT NOT NULL,
  extractor     TEXT NOT NULL,
  status        INTEGER NOT NULL,
  etag          TEXT NOT NULL,
  modified      TEXT NOT NULL
) STRICT;

CREATE INDEX locations_document ON locations (document);
CREATE UNIQUE INDEX locations_place ON locations (place, seq);

-- The index of words: shard/internal/index has the layout. Text is read from
-- texts, and proven, before anybody sees it.
CREATE TABLE segments (
  base     INTEGER PRIMARY KEY, -- number of its first row of postings
  rows     INTEGER NOT NULL,
  level    INTEGER NOT NULL,
  negative INTEGER NOT NULL, -- 1: counts what the others hold of hidden documents
  first    INTEGER NOT NULL, -- id of its first chunk
  passages INTEGER NOT NULL
) STRICT;

CREATE TABLE postings (
  id   INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;
