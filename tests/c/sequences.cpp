// Random sequences of calls: `sequences COUNT SEED`. A sanitizer tells what they leave behind.
#include "sequences.h"

#include <random>

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1000;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 1);
  for (int i = 0; i < count; ++i) {
    std::vector<uint8_t> bytes(64 + random() % 512);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    sequences::run(bytes.data(), bytes.size());
  }
  printf("%d sequences, %s errors\n", count, sequences::errors > count ? "many" : "few");
  return 0;
}
