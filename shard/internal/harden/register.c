/* Registration: every connection that this process opens gets the function. */

#include "harden.h"
#include "sqlite.h"

static void harden(sqlite3_context *ctx, int n, sqlite3_value **v) {
  static const int settings[][2] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
    /* Without it a cached statement that compares with a parameter is parsed and
    ** planned anew at each use, in case its value allows for a better plan. */
    {SQLITE_DBCONFIG_ENABLE_QPSG, 1},
  };
  sqlite3 *db = sqlite3_context_db_handle(ctx);
  (void)n;
  (void)v;
  for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
    int now = -1;
    int rc = sqlite3_db_config(db, settings[i][0], settings[i][1], &now);
    if (rc != SQLITE_OK || now != settings[i][1]) {
      sqlite3_result_error(ctx, "arborist_harden: a setting was refused", -1);
      return;
    }
  }
  sqlite3_result_int64(ctx, 1);
}

/* Called by SQLite for each new connection. A failure here would fail every
** sqlite3_open of the process, so it is left to the first use to find that the
** function is missing. */
static int setup(sqlite3 *db, char **error, const void *api) {
  (void)error;
  (void)api;
  sqlite3_create_function_v2(db, "arborist_harden", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, 0, harden, 0, 0, 0);
  return SQLITE_OK;
}

int arborist_register(void) {
  return sqlite3_auto_extension((void (*)(void))setup);
}
