/*
** The part of SQLite's C interface that rank.c uses.
**
** SQLite itself is compiled into the go-sqlite3 package, whose headers cgo
** cannot include from another module. These declarations follow sqlite3.h and
** fts5.h of SQLite 3.54 (public domain); SQLite promises not to change them
** within version 3.
**
** Every function is weak: cgo first links this package alone to learn its
** dynamic imports, where nothing defines them; the final link finds them in
** go-sqlite3.
*/
#ifndef ARBORIST_SQLITE_H
#define ARBORIST_SQLITE_H

typedef long long sqlite3_int64;
typedef unsigned long long sqlite3_uint64;
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_value sqlite3_value;

#define SQLITE_OK 0
#define SQLITE_NOMEM 7
#define SQLITE_INTERRUPT 9
#define SQLITE_NULL 5
#define SQLITE_UTF8 1
#define SQLITE_DIRECTONLY 0x000080000
#define SQLITE_TRANSIENT ((void (*)(void *)) - 1)

#define SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER 1004
#define SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION 1005
#define SQLITE_DBCONFIG_DEFENSIVE 1010
#define SQLITE_DBCONFIG_DQS_DML 1013
#define SQLITE_DBCONFIG_DQS_DDL 1014
#define SQLITE_DBCONFIG_ENABLE_TRIGGER 1003
#define SQLITE_DBCONFIG_ENABLE_VIEW 1015
#define SQLITE_DBCONFIG_TRUSTED_SCHEMA 1017

#define WEAK __attribute__((weak)) extern

WEAK int sqlite3_auto_extension(void (*)(void));
WEAK int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
WEAK int sqlite3_bind_pointer(sqlite3_stmt *, int, void *, const char *, void (*)(void *));
WEAK int sqlite3_step(sqlite3_stmt *);
WEAK int sqlite3_finalize(sqlite3_stmt *);
WEAK int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
  void (*)(sqlite3_context *, int, sqlite3_value **),
  void (*)(sqlite3_context *, int, sqlite3_value **),
  void (*)(sqlite3_context *), void (*)(void *));
WEAK int sqlite3_db_config(sqlite3 *, int, ...);
WEAK int sqlite3_is_interrupted(sqlite3 *);
WEAK sqlite3 *sqlite3_context_db_handle(sqlite3_context *);
WEAK void *sqlite3_user_data(sqlite3_context *);
WEAK void *sqlite3_aggregate_context(sqlite3_context *, int);
WEAK void *sqlite3_malloc64(sqlite3_uint64);
WEAK void *sqlite3_realloc64(void *, sqlite3_uint64);
WEAK void sqlite3_free(void *);
WEAK int sqlite3_value_type(sqlite3_value *);
WEAK int sqlite3_value_bytes(sqlite3_value *);
WEAK const void *sqlite3_value_blob(sqlite3_value *);
WEAK const unsigned char *sqlite3_value_text(sqlite3_value *);
WEAK sqlite3_int64 sqlite3_value_int64(sqlite3_value *);
WEAK double sqlite3_value_double(sqlite3_value *);
WEAK void sqlite3_result_null(sqlite3_context *);
WEAK void sqlite3_result_double(sqlite3_context *, double);
WEAK void sqlite3_result_int64(sqlite3_context *, sqlite3_int64);
WEAK void sqlite3_result_blob64(sqlite3_context *, const void *, sqlite3_uint64, void (*)(void *));
WEAK void sqlite3_result_error(sqlite3_context *, const char *, int);
WEAK void sqlite3_result_error_code(sqlite3_context *, int);
WEAK void sqlite3_result_error_nomem(sqlite3_context *);

/* From fts5.h. Members that rank.c never calls are named, to keep the layout,
** and typed as plain function pointers. */

typedef struct Fts5ExtensionApi Fts5ExtensionApi;
typedef struct Fts5Context Fts5Context;
typedef struct Fts5Tokenizer Fts5Tokenizer;
typedef struct Fts5PhraseIter {
  const unsigned char *a;
  const unsigned char *b;
} Fts5PhraseIter;
typedef void (*fts5_unused)(void);
typedef void (*fts5_extension_function)(const Fts5ExtensionApi *, Fts5Context *,
  sqlite3_context *, int, sqlite3_value **);

struct Fts5ExtensionApi {
  int iVersion;
  fts5_unused xUserData, xColumnCount;
  int (*xRowCount)(Fts5Context *, sqlite3_int64 *);
  fts5_unused xColumnTotalSize, xTokenize;
  int (*xPhraseCount)(Fts5Context *);
  fts5_unused xPhraseSize, xInstCount, xInst;
  sqlite3_int64 (*xRowid)(Fts5Context *);
  fts5_unused xColumnText;
  int (*xColumnSize)(Fts5Context *, int, int *);
  int (*xQueryPhrase)(Fts5Context *, int, void *,
    int (*)(const Fts5ExtensionApi *, Fts5Context *, void *));
  int (*xSetAuxdata)(Fts5Context *, void *, void (*)(void *));
  void *(*xGetAuxdata)(Fts5Context *, int);
  int (*xPhraseFirst)(Fts5Context *, int, Fts5PhraseIter *, int *, int *);
  void (*xPhraseNext)(Fts5Context *, Fts5PhraseIter *, int *, int *);
  /* Later members exist and are not used here. */
};

typedef struct fts5_tokenizer {
  int (*xCreate)(void *, const char **, int, Fts5Tokenizer **);
  void (*xDelete)(Fts5Tokenizer *);
  int (*xTokenize)(Fts5Tokenizer *, void *, int, const char *, int,
    int (*)(void *, int, const char *, int, int, int));
} fts5_tokenizer;

#define FTS5_TOKENIZE_DOCUMENT 0x0004

typedef struct fts5_api fts5_api;
struct fts5_api {
  int iVersion;
  fts5_unused xCreateTokenizer;
  int (*xFindTokenizer)(fts5_api *, const char *, void **, fts5_tokenizer *);
  int (*xCreateFunction)(fts5_api *, const char *, void *,
    fts5_extension_function, void (*)(void *));
};

#endif
