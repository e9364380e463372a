/*
** arborist_top(rowid, score, k): an aggregate over what arborist_score gives.
** Its result is a blob: rows matched, rows kept, and then rowid and score of
** every row whose score is at least the k-th best. All are 8 bytes wide, in
** the machine's order; the rows stand in no order.
*/

#include <stdlib.h>
#include <string.h>

#include "rank.h"

typedef struct row {
  sqlite3_int64 id;
  double score;
} row;

typedef struct top {
  sqlite3_int64 matched, k;
  sqlite3_int64 n, cap;
  row *rows;
} top;

static int descending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* Drops the rows below the k-th best; ties with it stay. */
static int compact(top *t) {
  double *scores, least;
  sqlite3_int64 i, kept = 0;
  if (t->n <= t->k) return SQLITE_OK;
  scores = sqlite3_malloc64(sizeof(double) * (sqlite3_uint64)t->n);
  if (scores == 0) return SQLITE_NOMEM;
  for (i = 0; i < t->n; i++) scores[i] = t->rows[i].score;
  qsort(scores, (size_t)t->n, sizeof(double), descending);
  least = scores[t->k - 1];
  sqlite3_free(scores);
  for (i = 0; i < t->n; i++) {
    if (t->rows[i].score >= least) t->rows[kept++] = t->rows[i];
  }
  t->n = kept;
  return SQLITE_OK;
}

static int grow(top *t) {
  row *rows;
  int rc = compact(t);
  if (rc != SQLITE_OK) return rc;
  /* Where ties filled most of it, compacting again soon would be quadratic. */
  if (t->n > t->cap / 2 || t->cap == 0) {
    sqlite3_int64 cap = t->cap == 0 ? 2 * t->k + 256 : 2 * t->cap;
    rows = sqlite3_realloc64(t->rows, sizeof(row) * (sqlite3_uint64)cap);
    if (rows == 0) return SQLITE_NOMEM;
    t->rows = rows;
    t->cap = cap;
  }
  return SQLITE_OK;
}

static void step(sqlite3_context *ctx, int n, sqlite3_value **v) {
  top *t = sqlite3_aggregate_context(ctx, sizeof(top));
  double score;
  (void)n;
  if (t == 0) {
    sqlite3_result_error_nomem(ctx);
    return;
  }
  if (t->k == 0) {
    t->k = sqlite3_value_int64(v[2]);
    if (t->k < 1 || t->k > 1000000) {
      t->k = 0;
      sqlite3_result_error(ctx, "arborist_top: bad parameters", -1);
      return;
    }
  }
  if (sqlite3_value_type(v[1]) == SQLITE_NULL) {
    t->matched++;
    return;
  }
  score = sqlite3_value_double(v[1]);
  if (score < 0) return;
  t->matched++;
  if (t->n == t->cap && grow(t) != SQLITE_OK) {
    sqlite3_result_error_nomem(ctx);
    return;
  }
  t->rows[t->n].id = sqlite3_value_int64(v[0]);
  t->rows[t->n].score = score;
  t->n++;
}

/* Also called where the query was abandoned, to free. */
static void final(sqlite3_context *ctx) {
  top *t = sqlite3_aggregate_context(ctx, 0);
  sqlite3_int64 head[2] = {0, 0};
  char *out;
  if (t != 0 && compact(t) != SQLITE_OK) {
    sqlite3_free(t->rows);
    sqlite3_result_error_nomem(ctx);
    return;
  }
  if (t != 0) {
    head[0] = t->matched;
    head[1] = t->n;
  }
  out = sqlite3_malloc64(sizeof(head) + sizeof(row) * (sqlite3_uint64)head[1]);
  if (out == 0) {
    if (t != 0) sqlite3_free(t->rows);
    sqlite3_result_error_nomem(ctx);
    return;
  }
  memcpy(out, head, sizeof(head));
  if (head[1] > 0) memcpy(out + sizeof(head), t->rows, sizeof(row) * (sqlite3_uint64)head[1]);
  if (t != 0) sqlite3_free(t->rows);
  sqlite3_result_blob64(ctx, out, sizeof(head) + sizeof(row) * (sqlite3_uint64)head[1], sqlite3_free);
}

int arborist_top(sqlite3 *db) {
  return sqlite3_create_function_v2(db, "arborist_top", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, 0, 0, step, final, 0);
}
