// Runs the C++ tests; every case of test_engine and test_transforms runs on the CPU and on the
// second backend.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
