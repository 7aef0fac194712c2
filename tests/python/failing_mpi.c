/* A library by the names of MPI in which this process is rank 0 of two, or of MPI_RANKS. Messages never arrive, and
   the call that FAILING_MPI names fails. For test_mpi.py. */
#include <stdlib.h>
#include <string.h>

#define CALL(name, parameters, result)                                   \
  int MPI_##name parameters {                                            \
    const char* failing = getenv("FAILING_MPI");                         \
    if (failing && strcmp(failing, #name) == 0) return 17;               \
    result;                                                              \
    return 0;                                                            \
  }

typedef void* Any;

CALL(Init_thread, (int* n, char*** words, int wanted, int* given),
     *given = getenv("FAILING_MPI_THREADS") ? 0 : wanted)
CALL(Initialized, (int* flag), *flag = 0)
CALL(Finalized, (int* flag), *flag = getenv("MPI_OVER") != NULL)
CALL(Finalize, (void), )
CALL(Query_thread, (int* given), *given = 3)
CALL(Comm_rank, (Any comm, int* rank), *rank = 0)
CALL(Comm_size, (Any comm, int* size), *size = getenv("MPI_RANKS") ? atoi(getenv("MPI_RANKS")) : 2)
CALL(Comm_dup, (Any comm, int* copy), *copy = 1)
CALL(Comm_set_errhandler, (Any comm, Any handler), )
CALL(Isend, (const void* data, int n, Any type, int to, int tag, Any comm, int* request),
     *request = 1)
CALL(Irecv, (void* data, int n, Any type, int from, int tag, Any comm, int* request), *request = 1)
CALL(Test, (int* request, int* done, void* status), *done = 0)
#ifndef OLD
CALL(Cancel, (int* request), )
#endif
int MPI_Abort(Any comm, int code) { exit(40 + code); }
int MPI_Error_string(int code, char* text, int* length) {
  *length = (int)strlen(strcpy(text, code == 17 ? "it was asked to fail" : "?"));
  return 0;
}
int MPI_Get_library_version(char* text, int* length) {
  *length = (int)strlen(strcpy(text, "Failing MPI\t 1.0\nmore"));
  return 0;
}
