/*
** The part of SQLite's C interface that register.c uses.
**
** SQLite itself is compiled into the go-sqlite3 package, whose headers cgo
** cannot include from another module. These declarations follow sqlite3.h of
** SQLite 3.54 (public domain); SQLite promises not to change them within
** version 3.
**
** Every function is weak: cgo first links this package alone to learn its
** dynamic imports, where nothing defines them; the final link finds them in
** go-sqlite3.
*/
#ifndef ARBORIST_SQLITE_H
#define ARBORIST_SQLITE_H

typedef long long sqlite3_int64;
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_value sqlite3_value;

#define SQLITE_OK 0
#define SQLITE_UTF8 1
#define SQLITE_DIRECTONLY 0x000080000

#define SQLITE_DBCONFIG_ENABLE_TRIGGER 1003
#define SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER 1004
#define SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION 1005
#define SQLITE_DBCONFIG_ENABLE_QPSG 1007
#define SQLITE_DBCONFIG_DEFENSIVE 1010
#define SQLITE_DBCONFIG_DQS_DML 1013
#define SQLITE_DBCONFIG_DQS_DDL 1014
#define SQLITE_DBCONFIG_ENABLE_VIEW 1015
#define SQLITE_DBCONFIG_TRUSTED_SCHEMA 1017

#define WEAK __attribute__((weak)) extern

WEAK int sqlite3_auto_extension(void (*)(void));
WEAK int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
  void (*)(sqlite3_context *, int, sqlite3_value **),
  void (*)(sqlite3_context *, int, sqlite3_value **),
  void (*)(sqlite3_context *), void (*)(void *));
WEAK int sqlite3_db_config(sqlite3 *, int, ...);
WEAK sqlite3 *sqlite3_context_db_handle(sqlite3_context *);
WEAK void sqlite3_result_error(sqlite3_context *, const char *, int);
WEAK void sqlite3_result_int64(sqlite3_context *, sqlite3_int64);

#endif
