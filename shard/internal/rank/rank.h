#ifndef ARBORIST_RANK_H
#define ARBORIST_RANK_H

#include "sqlite.h"

/* skips: sorted, disjoint half-open ranges of rowids that do not count. */
typedef struct skips {
  int n;
  sqlite3_int64 *range; /* n pairs of first, end */
} skips;

int arborist_skipped(const skips *s, sqlite3_int64 rowid);

int arborist_register(void);
int arborist_tokenizer(sqlite3 *db, fts5_api *fts);
int arborist_top(sqlite3 *db);
void arborist_score_function(const Fts5ExtensionApi *, Fts5Context *, sqlite3_context *, int, sqlite3_value **);
void arborist_df_function(const Fts5ExtensionApi *, Fts5Context *, sqlite3_context *, int, sqlite3_value **);

#endif
