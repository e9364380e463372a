/*
** arborist_score(fts, params, skips): BM25 of the current row with statistics
** that the caller gives, or NULL where at least k rows before it did better,
** or -1 where the row is skipped.
**
** arborist_df(fts, skips): how many rows each phrase of the query matches.
**
** Scores are compared bit for bit between files and with a Go reference, so
** the order of operations below is fixed and the file must be compiled without
** fused multiply-add.
*/

/* For compilers that contract even in strict C99. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include <string.h>

#include "rank.h"

#define MAX_PHRASES 64
#define K1 1.2
#define B 0.75

int arborist_skipped(const skips *s, sqlite3_int64 rowid) {
  int low = 0, high = s->n;
  while (low < high) {
    int mid = low + (high - low) / 2;
    if (s->range[2 * mid + 1] <= rowid) low = mid + 1;
    else high = mid;
  }
  return low < s->n && s->range[2 * low] <= rowid;
}

/* params as the Go side writes them, followed by one idf for each phrase. */
typedef struct params {
  sqlite3_int64 k;       /* scores to keep */
  sqlite3_int64 phrases; /* of the query */
  double average;        /* words in a row, over all files */
  double floor;          /* a score that k rows elsewhere reach */
} params;

typedef struct scorer {
  params p;
  double idf[MAX_PHRASES];
  skips skip;
  sqlite3_int64 held; /* scores in best */
  double *best;       /* min-heap of the k best scores so far */
} scorer;

/* Puts a score into the heap, in the place of the least where it is full. */
static void keep(scorer *s, double score) {
  sqlite3_int64 i;
  double *best = s->best;
  if (s->held < s->p.k) {
    for (i = s->held++; i > 0 && best[(i - 1) / 2] > score; i = (i - 1) / 2) best[i] = best[(i - 1) / 2];
    best[i] = score;
    return;
  }
  if (score <= best[0]) return;
  for (i = 0;;) {
    sqlite3_int64 child = 2 * i + 1;
    if (child >= s->held) break;
    if (child + 1 < s->held && best[child + 1] < best[child]) child++;
    if (best[child] >= score) break;
    best[i] = best[child];
    i = child;
  }
  best[i] = score;
}

/* The least score that a row needs to be among the k best, ties included. */
static double threshold(const scorer *s) {
  if (s->held == s->p.k && s->best[0] > s->p.floor) return s->best[0];
  return s->p.floor;
}

/* Never grows with length: every step is monotone, rounding included. So the
** score for a lower bound of the length is an upper bound of the score. */
static double bm25(const scorer *s, const int *tf, int length) {
  double norm = K1 * ((1.0 - B) + B * ((double)length / s->p.average));
  double score = 0.0;
  for (int i = 0; i < s->p.phrases; i++) {
    if (tf[i] > 0) score += s->idf[i] * (((double)tf[i] * (K1 + 1.0)) / ((double)tf[i] + norm));
  }
  return score;
}

/* Reads the arguments, on the first row of a query. */
static scorer *new_scorer(sqlite3_context *ctx, int phrases, sqlite3_value **v) {
  sqlite3_uint64 size = (sqlite3_uint64)sqlite3_value_bytes(v[0]);
  sqlite3_uint64 skip = (sqlite3_uint64)sqlite3_value_bytes(v[1]);
  params p;
  if (size < sizeof(p) || skip % 16 != 0) goto bad;
  memcpy(&p, sqlite3_value_blob(v[0]), sizeof(p));
  if (p.phrases != phrases || phrases > MAX_PHRASES || p.k < 1 || p.k > 1000000) goto bad;
  if (size != sizeof(p) + sizeof(double) * (sqlite3_uint64)phrases || !(p.average > 0)) goto bad;
  scorer *s = sqlite3_malloc64(sizeof(scorer) + sizeof(double) * (sqlite3_uint64)p.k + skip);
  if (s == 0) {
    sqlite3_result_error_nomem(ctx);
    return 0;
  }
  memset(s, 0, sizeof(*s));
  s->p = p;
  memcpy(s->idf, (const char *)sqlite3_value_blob(v[0]) + sizeof(p), sizeof(double) * (sqlite3_uint64)phrases);
  s->best = (double *)&s[1];
  s->skip.n = (int)(skip / 16);
  s->skip.range = (sqlite3_int64 *)(s->best + p.k);
  if (skip > 0) memcpy(s->skip.range, sqlite3_value_blob(v[1]), skip);
  return s;
bad:
  sqlite3_result_error(ctx, "arborist_score: bad parameters", -1);
  return 0;
}

void arborist_score_function(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *ctx, int n, sqlite3_value **v) {
  int tf[MAX_PHRASES];
  int length = 0, end = 0, rc;
  double score;
  scorer *s = api->xGetAuxdata(fts, 0);
  if (s == 0) {
    if (n != 2) {
      sqlite3_result_error(ctx, "arborist_score: wants two arguments", -1);
      return;
    }
    s = new_scorer(ctx, api->xPhraseCount(fts), v);
    if (s == 0) return;
    rc = api->xSetAuxdata(fts, s, sqlite3_free);
    if (rc != SQLITE_OK) {
      sqlite3_result_error_code(ctx, rc);
      return;
    }
  }
  if (s->skip.n > 0 && arborist_skipped(&s->skip, api->xRowid(fts))) {
    sqlite3_result_double(ctx, -1.0);
    return;
  }
  for (int i = 0; i < s->p.phrases; i++) {
    Fts5PhraseIter at;
    int column, offset;
    tf[i] = 0;
    rc = api->xPhraseFirst(fts, i, &at, &column, &offset);
    if (rc != SQLITE_OK) {
      sqlite3_result_error_code(ctx, rc);
      return;
    }
    for (; column >= 0; api->xPhraseNext(fts, &at, &column, &offset)) {
      tf[i]++;
      if (offset >= end) end = offset + 1;
    }
  }
  /* The row is at least as long as its last match: often enough to know that
  ** it cannot win, which saves reading its length. */
  if (bm25(s, tf, end) < threshold(s)) return;
  rc = api->xColumnSize(fts, 0, &length);
  if (rc != SQLITE_OK) {
    sqlite3_result_error_code(ctx, rc);
    return;
  }
  score = bm25(s, tf, length);
  if (score < threshold(s)) return;
  keep(s, score);
  sqlite3_result_double(ctx, score);
}

typedef struct counter {
  sqlite3_int64 rows;
  unsigned steps;
  skips skip;
  sqlite3 *db;
} counter;

static int count(const Fts5ExtensionApi *api, Fts5Context *fts, void *data) {
  counter *c = data;
  /* No SQL runs in this loop, so nobody else looks for an interrupt. */
  if ((++c->steps & 0x3ff) == 0 && sqlite3_is_interrupted(c->db)) return SQLITE_INTERRUPT;
  if (c->skip.n == 0 || !arborist_skipped(&c->skip, api->xRowid(fts))) c->rows++;
  return SQLITE_OK;
}

void arborist_df_function(const Fts5ExtensionApi *api, Fts5Context *fts, sqlite3_context *ctx, int n, sqlite3_value **v) {
  sqlite3_int64 rows[MAX_PHRASES];
  counter c;
  int size, phrases = api->xPhraseCount(fts);
  memset(&c, 0, sizeof(c));
  size = n == 1 ? sqlite3_value_bytes(v[0]) : -1;
  if (size < 0 || size % 16 != 0 || phrases > MAX_PHRASES) {
    sqlite3_result_error(ctx, "arborist_df: bad parameters", -1);
    return;
  }
  c.db = sqlite3_context_db_handle(ctx);
  c.skip.n = size / 16;
  if (size > 0) {
    c.skip.range = sqlite3_malloc64((sqlite3_uint64)size);
    if (c.skip.range == 0) {
      sqlite3_result_error_nomem(ctx);
      return;
    }
    memcpy(c.skip.range, sqlite3_value_blob(v[0]), (size_t)size);
  }
  for (int i = 0; i < phrases; i++) {
    int rc;
    c.rows = 0;
    rc = api->xQueryPhrase(fts, i, &c, count);
    if (rc != SQLITE_OK) {
      sqlite3_free(c.skip.range);
      sqlite3_result_error_code(ctx, rc);
      return;
    }
    rows[i] = c.rows;
  }
  sqlite3_free(c.skip.range);
  sqlite3_result_blob64(ctx, rows, sizeof(rows[0]) * (sqlite3_uint64)phrases, SQLITE_TRANSIENT);
}
