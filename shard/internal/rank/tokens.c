/*
** arborist_tokens(text): the words of a text exactly as the index sees them, a
** blob of a 4-byte length in the machine's order and the bytes for each.
**
** arborist_length(sz): the number of words that a row of fts_docsize records.
*/

#include <string.h>

#include "rank.h"

/* FTS5_MAX_TOKEN_SIZE: longer words are cut there in the index. */
#define MAX_TOKEN 32768

typedef struct tokenizer {
  fts5_tokenizer module;
  Fts5Tokenizer *instance;
} tokenizer;

typedef struct buffer {
  char *data;
  sqlite3_uint64 n, cap;
} buffer;

static int add(void *data, int flags, const char *token, int size, int start, int end) {
  buffer *b = data;
  unsigned n = size > MAX_TOKEN ? MAX_TOKEN : (unsigned)size;
  (void)flags;
  (void)start;
  (void)end;
  if (b->n + 4 + n > b->cap) {
    sqlite3_uint64 cap = 2 * (b->cap + 4 + n);
    char *grown = sqlite3_realloc64(b->data, cap);
    if (grown == 0) return SQLITE_NOMEM;
    b->data = grown;
    b->cap = cap;
  }
  memcpy(b->data + b->n, &n, 4);
  memcpy(b->data + b->n + 4, token, n);
  b->n += 4 + n;
  return SQLITE_OK;
}

static void tokens(sqlite3_context *ctx, int n, sqlite3_value **v) {
  tokenizer *t = sqlite3_user_data(ctx);
  buffer b = {0, 0, 0};
  const char *text = (const char *)sqlite3_value_text(v[0]);
  int rc;
  (void)n;
  if (text == 0) return;
  rc = t->module.xTokenize(t->instance, &b, FTS5_TOKENIZE_DOCUMENT, text, sqlite3_value_bytes(v[0]), add);
  if (rc != SQLITE_OK) {
    sqlite3_free(b.data);
    sqlite3_result_error_code(ctx, rc);
    return;
  }
  sqlite3_result_blob64(ctx, b.data ? b.data : "", b.n, SQLITE_TRANSIENT);
  sqlite3_free(b.data);
}

static void length(sqlite3_context *ctx, int n, sqlite3_value **v) {
  const unsigned char *p = sqlite3_value_blob(v[0]);
  int size = sqlite3_value_bytes(v[0]);
  sqlite3_int64 words = 0;
  (void)n;
  /* One SQLite varint: the table has one column. Four bytes hold more words
  ** than any chunk has. */
  for (int i = 0; p != 0 && i < size && i < 4; i++) {
    words = words << 7 | (p[i] & 0x7f);
    if ((p[i] & 0x80) == 0) {
      if (i + 1 == size) {
        sqlite3_result_int64(ctx, words);
        return;
      }
      break;
    }
  }
  sqlite3_result_error(ctx, "arborist_length: not a length", -1);
}

static void discard(void *data) {
  tokenizer *t = data;
  if (t->instance != 0) t->module.xDelete(t->instance);
  sqlite3_free(t);
}

int arborist_tokenizer(sqlite3 *db, fts5_api *fts) {
  /* The same words as in schema.sql, where the index is made. */
  const char *args[] = {"unicode61", "remove_diacritics", "2"};
  void *data = 0;
  int rc;
  tokenizer *t = sqlite3_malloc64(sizeof(*t));
  if (t == 0) return SQLITE_NOMEM;
  memset(t, 0, sizeof(*t));
  rc = fts->xFindTokenizer(fts, "porter", &data, &t->module);
  if (rc == SQLITE_OK) rc = t->module.xCreate(data, args, 3, &t->instance);
  if (rc != SQLITE_OK) {
    t->instance = 0;
    discard(t);
    return rc;
  }
  sqlite3_create_function_v2(db, "arborist_length", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, 0, length, 0, 0, 0);
  /* On failure SQLite calls discard itself. */
  return sqlite3_create_function_v2(db, "arborist_tokens", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, t, tokens, 0, 0, discard);
}
