// The headers of Python are those of the system that compiles. Their sizes must be those of macOS:
// compiling this is the check.
#include <Python.h>
#include <sys/types.h>

#include <cstddef>
#include <cwchar>

#define SAME(NAME, TYPE) static_assert(NAME == sizeof(TYPE), #NAME " is another one on macOS")
SAME(SIZEOF_SHORT, short);
SAME(SIZEOF_INT, int);
SAME(SIZEOF_LONG, long);
SAME(SIZEOF_LONG_LONG, long long);
SAME(SIZEOF_FLOAT, float);
SAME(SIZEOF_DOUBLE, double);
SAME(SIZEOF_VOID_P, void*);
SAME(SIZEOF_SIZE_T, size_t);
SAME(SIZEOF_WCHAR_T, wchar_t);
SAME(SIZEOF_TIME_T, time_t);
SAME(SIZEOF_OFF_T, off_t);
SAME(SIZEOF_PID_T, pid_t);
static_assert(ALIGNOF_LONG == alignof(long), "ALIGNOF_LONG is another one on macOS");
#ifdef WORDS_BIGENDIAN
#error "the order of bytes is another one on macOS"
#endif
