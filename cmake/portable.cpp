// Functions that newer C and C++ libraries have and glibc 2.28 with the libstdc++ of gcc 7 has not,
// defined here so that a package that is built on a newer system runs on older ones (ADR 25). They
// are hidden: each library that contains this file uses its own, and no other sees them. A function
// that only got a new version of its name is called by the old one, which all later libraries keep.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

#include <ctime>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <utility>

#if defined(__GLIBC__) && defined(__x86_64__)

// The definition has the name that other files refer to; the function that it calls is the old one.
#define MLX_HIDDEN __attribute__((visibility("hidden"), used))
#define MLX_OLD(result, name, version, parameters, arguments)      \
  extern "C" result mlx_old_##name parameters;                     \
  __asm__(".symver mlx_old_" #name "," #name "@GLIBC_" version);   \
  MLX_HIDDEN result mlx_portable_##name parameters __asm__(#name); \
  MLX_HIDDEN result mlx_portable_##name parameters { return mlx_old_##name arguments; }

// Functions that report errors through errno only in the new version.
MLX_OLD(double, exp, "2.2.5", (double x), (x))
MLX_OLD(double, log, "2.2.5", (double x), (x))
MLX_OLD(double, log2, "2.2.5", (double x), (x))
MLX_OLD(double, pow, "2.2.5", (double x, double y), (x, y))
MLX_OLD(double, hypot, "2.2.5", (double x, double y), (x, y))
MLX_OLD(float, hypotf, "2.2.5", (float x, float y), (x, y))

// Functions that moved from libpthread and libdl into libc.
MLX_OLD(int, pthread_once, "2.2.5", (pthread_once_t * once, void (*f)()), (once, f))
MLX_OLD(int, pthread_sigmask, "2.2.5", (int how, const sigset_t* set, sigset_t* before),
        (how, set, before))
MLX_OLD(int, pthread_mutex_trylock, "2.2.5", (pthread_mutex_t * m), (m))
MLX_OLD(int, pthread_getattr_np, "2.2.5", (pthread_t t, pthread_attr_t* a), (t, a))
MLX_OLD(int, pthread_attr_getstack, "2.2.5", (const pthread_attr_t* a, void** at, size_t* size),
        (a, at, size))
MLX_OLD(int, pthread_getaffinity_np, "2.3.4", (pthread_t t, size_t size, cpu_set_t* set),
        (t, size, set))
MLX_OLD(int, pthread_setaffinity_np, "2.3.4", (pthread_t t, size_t size, const cpu_set_t* set),
        (t, size, set))
MLX_OLD(void*, dlopen, "2.2.5", (const char* file, int mode), (file, mode))
MLX_OLD(void*, dlsym, "2.2.5", (void* library, const char* name), (library, name))
MLX_OLD(int, dladdr, "2.2.5", (const void* address, Dl_info* info), (address, info))
MLX_OLD(char*, dlerror, "2.2.5", (), ())

// Former macros for functions that get the version of the structure.
extern "C" int mlx_old_fxstat(int version, int fd, struct stat* info);
extern "C" int mlx_old_fxstatat(int version, int fd, const char* path, struct stat* info,
                                int flags);
__asm__(".symver mlx_old_fxstat,__fxstat@GLIBC_2.2.5");
__asm__(".symver mlx_old_fxstatat,__fxstatat@GLIBC_2.4");
namespace {
constexpr int kStatVersion = 1;
}
MLX_HIDDEN int mlx_portable_fstat(int fd, struct stat* info) __asm__("fstat");
MLX_HIDDEN int mlx_portable_fstat(int fd, struct stat* info) {
  return mlx_old_fxstat(kStatVersion, fd, info);
}
MLX_HIDDEN int mlx_portable_fstatat(int fd, const char* path, struct stat* info,
                                    int flags) __asm__("fstatat");
MLX_HIDDEN int mlx_portable_fstatat(int fd, const char* path, struct stat* info, int flags) {
  return mlx_old_fxstatat(kStatVersion, fd, path, info, flags);
}

// Reference counts may skip atomic instructions while this is true. The engine has threads.
MLX_HIDDEN char mlx_portable_single_threaded __asm__("__libc_single_threaded") = 0;

namespace {

long long nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; }

}  // namespace

/// Waits until a time of any clock. Libraries without this wait by the real-time clock for
/// the rest; the waiter looks at its own clock afterwards.
MLX_HIDDEN int mlx_portable_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) __asm__("pthread_cond_clockwait");
MLX_HIDDEN int mlx_portable_clockwait(pthread_cond_t* cond, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const Wait system_wait =
      reinterpret_cast<Wait>(mlx_old_dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  if (system_wait) return system_wait(cond, mutex, clock, until);
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  const long long end = nanoseconds(real) + nanoseconds(*until) - nanoseconds(now);
  const timespec deadline{end / 1'000'000'000, end % 1'000'000'000};
  return pthread_cond_timedwait(cond, mutex, &deadline);
}

// Not where libstdc++ is linked as an archive, which brings these functions.
#if defined(__GLIBCXX__) && defined(MLX_VERSIONED_LIBSTDCXX)

// Members of classes of libstdc++ are functions with the object as first argument.
using std::exception_ptr, std::string;

MLX_HIDDEN void mlx_throw_bad_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
MLX_HIDDEN void mlx_throw_bad_length() { throw std::bad_array_new_length(); }

extern "C" void mlx_old_wait(void* condition, void* lock);
__asm__(
    ".symver mlx_old_wait,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
MLX_HIDDEN void mlx_wait(void* condition, void* lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
MLX_HIDDEN void mlx_wait(void* condition, void* lock) { mlx_old_wait(condition, lock); }

// Copies count one more reference to the exception, destruction one less. With their versions these
// are the system's: a compiler may emit both for the headers, calling what is defined below.
extern "C" void mlx_copy_pointer(void* to, const void* from);
extern "C" void mlx_destroy_pointer(void* pointer);
__asm__(".symver mlx_copy_pointer,_ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
__asm__(".symver mlx_destroy_pointer,_ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");
MLX_HIDDEN void mlx_add_reference(void** pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
MLX_HIDDEN void mlx_add_reference(void** pointer) {
  void* copy;
  mlx_copy_pointer(&copy, pointer);
}
MLX_HIDDEN void mlx_release_reference(void** pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
MLX_HIDDEN void mlx_release_reference(void** pointer) {
  void* copy = std::exchange(*pointer, nullptr);
  mlx_destroy_pointer(&copy);
}

// Constructors and members without their default arguments and qualifiers.
void mlx_construct_stream(void* stream, std::ios_base::openmode mode) __asm__(
    "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode");
MLX_HIDDEN void mlx_default_stream(void* stream) __asm__(
    "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev");
MLX_HIDDEN void mlx_default_stream(void* stream) {
  mlx_construct_stream(stream, std::ios_base::out);
}
string mlx_text(const void* buffer) __asm__(
    "_ZNKSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv");
MLX_HIDDEN string mlx_text_of(const void* buffer) __asm__(
    "_ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv");
MLX_HIDDEN string mlx_text_of(const void* buffer) { return mlx_text(buffer); }

#endif
#endif
